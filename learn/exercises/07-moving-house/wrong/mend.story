delete pvc/data

settle quiet

apply
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: data
  namespace: shop
spec:
  storageClassName: openebs-hostpath
  volumeName: pvc-558a3044
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
