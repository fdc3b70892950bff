// Package socket describes the sockets of a cluster's machines and their servers as Go types: the table of sockets
// (Table), the faults of calls (Fault), and the calls of a kubelet (Transport, Node). It does not link gRPC, so a
// program without CSI drivers is a third smaller than one with them. Package csi/call starts servers and carries out
// the calls.
package socket
