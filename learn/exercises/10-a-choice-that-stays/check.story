run-for 5m quiet

expect only Running in get pod web -o jsonpath={.status.phase}

expect only node-2 in get pod web -o jsonpath={.spec.nodeName}
