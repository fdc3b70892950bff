// Package sidecars runs the real CSI sidecars, unmodified, against a server of this repository, and
// compares ours with them.
//
// The programs are those of kubernetes-csi: csi-attacher, csi-resizer, csi-snapshotter and
// snapshot-controller are tools of this module's go.mod, csi-provisioner of that in the folder
// provisioner, since its last version that can be had, v6.3.0, does not compile with the client-go
// of the others. They are processes of their own: they reach the API server over HTTPS, by a
// kubeconfig, and the reference driver (package csi/driver) on a unix socket.
//
// A module of its own, since they depend on much that nothing else here needs. It is no part of
// "go test ./..." of the main module: "bash .ci/run interop" runs it.
package sidecars
