expect only Running in get pod web -o jsonpath={.status.phase}

expect only node-2 in get pod web -o jsonpath={.spec.nodeName}

expect node-2 in get pv -o jsonpath={.items[*].spec.nodeAffinity}
