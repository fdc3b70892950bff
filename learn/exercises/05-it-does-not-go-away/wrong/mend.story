patch pvc/data --type merge -p '{"metadata": {"finalizers": null}}'

settle quiet
