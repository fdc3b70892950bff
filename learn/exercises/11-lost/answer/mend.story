apply
apiVersion: v1
kind: PersistentVolume
metadata: {name: ledger}
spec:
  capacity: {storage: 5Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: /srv/ledger}
  claimRef: {apiVersion: v1, kind: PersistentVolumeClaim, namespace: default, name: data, uid: 558a3044-d9ab-451d-bf3b-29391f5b604b}

run-for 1m quiet
