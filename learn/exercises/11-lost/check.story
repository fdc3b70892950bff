settle quiet

expect only Bound in get pvc data -o jsonpath={.status.phase}

expect only Bound in get pv ledger -o jsonpath={.status.phase}

expect only /srv/ledger in get pv ledger -o jsonpath={.spec.hostPath.path}

expect kubernetes.io/pv-protection in get pv ledger -o jsonpath={.metadata.finalizers}
