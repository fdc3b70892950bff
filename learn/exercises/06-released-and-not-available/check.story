settle quiet

run-for 1m quiet

expect only Bound in get pvc data -o jsonpath={.status.phase}

expect only archive in get pvc data -o jsonpath={.spec.volumeName}

expect "Dear reader" in read node/node-1:/srv/archive/letters.txt
