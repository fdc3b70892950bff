expect only "1 1" in get deployment web -o "jsonpath={.status.updatedReplicas} {.status.availableReplicas}"

expect only node-2 in get pod -l app=web -o jsonpath={.items[*].spec.nodeName}

expect "ControllerUnpublishVolume" in trace csi-attacher/csi.storagesim.io grpc
