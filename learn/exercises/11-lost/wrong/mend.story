apply
apiVersion: v1
kind: PersistentVolume
metadata: {name: ledger}
spec:
  capacity: {storage: 5Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: /srv/ledger}

run-for 1m
