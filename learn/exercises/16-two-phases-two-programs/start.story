cluster nodes=node-1 provisioners=csi

stop csi-attacher/csi.storagesim.io

stop csi-driver/csi.storagesim.io/node-1

apply
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: csi}
provisioner: csi.storagesim.io
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: csi, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}

apply
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: c, image: busybox, command: [sleep, infinity], volumeMounts: [{name: data, mountPath: /data}]}
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]

run-for 10m quiet
