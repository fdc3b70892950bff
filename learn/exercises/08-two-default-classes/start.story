cluster nodes=node-1 provisioners=

apply -f claims.yaml

settle quiet

run-for 1m quiet

apply -f silver.yaml

run-for 1m quiet

apply -f gold.yaml

run-for 1m quiet

apply -f late.yaml

run-for 1m quiet
