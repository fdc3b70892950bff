cluster nodes=node-1,node-2

apply
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

stop openebs.io/local

apply
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: c, image: busybox, command: [sleep, infinity], volumeMounts: [{name: data, mountPath: /data}]}
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]

settle quiet

cordon node-1

stop node/node-1

start openebs.io/local

run-for 20m quiet
