cluster nodes=node-1,node-2 provisioners=csi

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

apply -f deployment.yaml

settle quiet

run-for 1m quiet

# The move.
patch deployment/web --type merge -p '{"spec":{"template":{"spec":{"nodeSelector":{"kubernetes.io/hostname":"node-2"}}}}}'

run-for 10m quiet
