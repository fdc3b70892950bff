patch pv/archive --type merge -p '{"spec": {"claimRef": null}}'

settle quiet
