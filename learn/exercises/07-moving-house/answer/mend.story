# Save the volume.
patch pv/pvc-558a3044 -p '{"spec": {"persistentVolumeReclaimPolicy": "Retain"}}'

# Free it.
delete pvc/data

settle quiet

patch pv/pvc-558a3044 --type merge -p '{"spec": {"claimRef": null}}'

# Give it.
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

settle quiet
