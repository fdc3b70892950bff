cluster nodes=node-1 provisioners=

apply -f volume.yaml

apply -f claim.yaml

settle quiet
