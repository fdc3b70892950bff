run-for 2m quiet

expect only 5Gi in get pvc data -o jsonpath={.status.capacity.storage}

expect only 5Gi in get pv -o jsonpath={.items[*].spec.capacity.storage}

expect no "deletes pod default/web" in trace user write
