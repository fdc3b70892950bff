delete pod init-pvc-558a3044 -n openebs --grace-period 0 --force

annotate pvc/data volume.kubernetes.io/selected-node-

settle quiet
