run-for 5m quiet

expect only Running in get pod web -o jsonpath={.status.phase}

expect "Dear shop" in read pod/web:/data/letters.txt

expect no "No such file" in ls node/node-1:/mnt/cache
