cluster nodes=node-1,node-2

apply -f class.yaml

apply -f claim.yaml

apply -f pod.yaml

run-for 2m quiet
