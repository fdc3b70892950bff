mkdir node/node-1:/mnt/cache
