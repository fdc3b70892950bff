cluster nodes=node-1 provisioners=

apply -f manifests.yaml

settle quiet
