// Package socket describes the sockets of a cluster's machines and their servers:
// the table of sockets, the faults of calls, and the calls that a kubelet makes, as Go
// types. It does not link gRPC. Package csi/call starts servers and carries out the calls.
//
// So a program that uses storagesim without CSI drivers is a third smaller than one with them.
package socket
