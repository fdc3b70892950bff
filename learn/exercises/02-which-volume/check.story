expect only $volume in get pvc data -o jsonpath={.spec.volumeName}
