expect only Running in get pod web -o jsonpath={.status.phase}

expect only disk-2 in get pvc data -o jsonpath={.spec.volumeName}

expect node-1 in get pv disk-1 -o jsonpath={.spec.nodeAffinity}
