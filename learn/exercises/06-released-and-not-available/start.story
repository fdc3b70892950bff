cluster nodes=node-1 provisioners=

apply
apiVersion: v1
kind: PersistentVolume
metadata: {name: archive}
spec:
  capacity: {storage: 5Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  hostPath: {path: /srv/archive}
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

write pod/writer:/data/letters.txt Dear reader

delete pod/writer --now

settle quiet

# The mistake.
delete pvc/data

settle quiet

apply
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: "", accessModes: [ReadWriteOnce], resources: {requests: {storage: 5Gi}}}

settle quiet
