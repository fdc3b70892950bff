settle quiet

run-for 1m quiet

expect only Bound in get pvc data -n shop -o jsonpath={.status.phase}

expect only pvc-558a3044 in get pvc data -n shop -o jsonpath={.spec.volumeName}

expect NotFound in get pvc data -n default

expect "3 boxes" in read node/node-1:/var/openebs/local/pvc-558a3044/orders.txt
