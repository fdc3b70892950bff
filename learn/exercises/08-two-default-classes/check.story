expect only $early in get pvc early -o jsonpath={.spec.storageClassName}

expect only "$never" in get pvc never -o jsonpath={.spec.storageClassName}none

expect only $late in get pvc late -o jsonpath={.spec.storageClassName}
