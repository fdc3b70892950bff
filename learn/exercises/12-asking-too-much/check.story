expect only Running in get pod web -o jsonpath={.status.phase}

expect only Bound in get pvc data -o jsonpath={.status.phase}

expect only openebs.io/local in get pv -o 'jsonpath={.items[*].metadata.annotations.pv\.kubernetes\.io/provisioned-by}'
