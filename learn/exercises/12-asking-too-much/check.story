expect only Running in get pod web -o jsonpath={.status.phase}

expect only Bound in get pvc data -o jsonpath={.status.phase}
