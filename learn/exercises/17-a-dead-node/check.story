run-for 3m quiet

expect only Running in get pod db-0 -o jsonpath={.status.phase}{.metadata.deletionTimestamp}

expect only node-2 in get pod db-0 -o jsonpath={.spec.nodeName}

expect only node-2 in get volumeattachments -o 'jsonpath={.items[?(@.metadata.creationTimestamp<"2026-01-01T01:04:30Z")].spec.nodeName}'

expect no "no pod has needed it for 6m0s" in trace attachdetach-controller decision

expect Ready in get node node-1 -o 'jsonpath={.status.conditions[?(@.lastTransitionTime>"2026-01-01T01:30:00Z")].type}'

expect only True/ in get node node-1 -o "jsonpath={.status.conditions[?(@.type=='Ready')].status}/{.spec.taints[*].key}"
