mkdir node/node-1:/mnt/disk/orders

mkdir node/node-1:/mnt/cache
