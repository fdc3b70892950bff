expect only Bound in get pvc data -o jsonpath={.status.phase}

expect only archive in get pvc data -o jsonpath={.spec.volumeName}

expect only "ReadWriteMany ssd" in get pv archive -o "jsonpath={.spec.accessModes[*]} {.metadata.labels.disk}"
