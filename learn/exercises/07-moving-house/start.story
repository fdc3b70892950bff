cluster nodes=node-1

apply
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: openebs-hostpath, annotations: {openebs.io/cas-type: local, cas.openebs.io/config: "[{name: StorageType, value: hostpath}]"}}
provisioner: openebs.io/local
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: openebs-hostpath, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}

apply
apiVersion: v1
kind: Pod
metadata: {name: writer}
spec:
  containers:
  - {name: c, image: busybox, command: [sleep, infinity], volumeMounts: [{name: data, mountPath: /data}]}
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]

settle quiet

write pod/writer:/data/orders.txt 3 boxes

delete pod/writer --now

settle quiet
