cluster nodes=node-1 provisioners=

apply
apiVersion: v1
kind: PersistentVolume
metadata: {name: ledger}
spec:
  capacity: {storage: 5Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: /srv/ledger}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: "", accessModes: [ReadWriteOnce], resources: {requests: {storage: 5Gi}}}

apply
apiVersion: v1
kind: Pod
metadata: {name: writer}
spec:
  containers:
  - {name: c, image: busybox, command: [sleep, infinity], volumeMounts: [{name: data, mountPath: /data}]}
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]

settle quiet

apply
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: accounts}
spec: {storageClassName: "", accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}

settle quiet

write pod/writer:/data/2025.txt 12 entries

# The mistake.
delete pv/ledger

patch pv/ledger --type merge -p '{"metadata": {"finalizers": null}}'

settle quiet
