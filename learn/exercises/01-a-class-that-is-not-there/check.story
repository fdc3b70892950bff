expect only Running in get pod web -o jsonpath={.status.phase}

expect only openebs.io/local in get pv -o "jsonpath={.items[*].metadata.annotations['pv\.kubernetes\.io/provisioned-by']}"

expect only openebs.io/local in get sc openebs-hostpath -o jsonpath={.provisioner}
