settle quiet

run-for 2m quiet

expect NotFound in get pvc data

expect "No resources found" in get pods

expect "no leaks" in leaks
