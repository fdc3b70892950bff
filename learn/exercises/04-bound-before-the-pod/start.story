cluster nodes=node-1,node-2 provisioners=

mkdir node/node-1:/mnt/disk

mkdir node/node-2:/mnt/disk

apply -f class.yaml

apply -f volumes.yaml

apply -f claim.yaml

settle quiet

# The pod comes later, as it does when people write it.
apply -f pod.yaml

settle quiet
