run-for 5m quiet

expect only Running in get pod web -o jsonpath={.status.phase}

expect only true in get volumeattachments -o jsonpath={.items[*].status.attached}
