cluster nodes=node-1 provisioners=

apply
apiVersion: v1
kind: ConfigMap
metadata: {name: shop}
data:
  settings: |
    currency = CNY

apply -f pod.yaml

settle quiet

run-for 5m quiet
