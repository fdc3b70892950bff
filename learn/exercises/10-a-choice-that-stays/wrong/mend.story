annotate pvc/data volume.kubernetes.io/selected-node-

run-for 5m
