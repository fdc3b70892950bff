cluster nodes=node-1 provisioners=

mkdir node/node-1:/mnt/shared

apply -f class.yaml

apply -f volume.yaml

apply -f claim.yaml

apply -f pods.yaml

settle quiet

run-for 1m quiet
