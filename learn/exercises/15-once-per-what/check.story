expect only Running in get pod one -o jsonpath={.status.phase}

expect only Running in get pod two -o jsonpath={.status.phase}

expect only '["ReadWriteOnce"]' in get pvc data -o jsonpath={.spec.accessModes}

expect only '["ReadWriteOnce"]' in get pv shared -o jsonpath={.spec.accessModes}
