patch pvc/data -p '{"spec": {"resources": {"requests": {"storage": "5Gi"}}}}'

settle quiet
