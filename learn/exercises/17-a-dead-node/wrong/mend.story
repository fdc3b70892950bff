delete pod db-0 --grace-period 0 --force

run-for 3m quiet

get volumeattachments

run-for 27m quiet

start node/node-1

run-for 2m quiet
