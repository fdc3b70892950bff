# It is off: I have seen it.
taint node-1 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute

run-for 3m quiet

get pods -o wide

# The new power supply.
run-for 27m quiet

start node/node-1

run-for 2m quiet

taint node-1 node.kubernetes.io/out-of-service-
