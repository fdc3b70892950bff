// Package socket is what a cluster knows of the sockets of its machines and of who listens
// on them: the table of sockets, the faults of calls, and the calls that a kubelet makes, as Go
// types. It does not link gRPC. Package csi/call makes servers listen and carries out the calls.
//
// So a program that uses storagesim without CSI drivers is a third smaller than one with them.
package socket
