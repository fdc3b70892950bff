// Package machine is the computers of a cluster: nodes, and the servers that nodes mount
// from. A Machine has a disk (package disk), what it mounts with (package mount), and
// faults, which strike all code that works there. A Set is all machines of a cluster.
package machine
