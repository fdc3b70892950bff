cluster nodes=node-1 provisioners=

mkdir node/node-1:/mnt/disks/orders

write node/node-1:/mnt/disks/orders/letters.txt Dear shop

apply -f class.yaml

apply -f volume.yaml

apply -f cache.yaml

apply -f pod.yaml

settle quiet
