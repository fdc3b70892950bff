// Package sidecars runs the real CSI sidecars, unmodified, against a server of this repository, and
// compares ours with them.
//
// The programs come from kubernetes-csi: csi-provisioner, csi-attacher, csi-resizer, csi-snapshotter and
// snapshot-controller are tools of this module's go.mod. Each is a process: it reaches the API server over HTTPS, by a
// kubeconfig, and the reference driver (package csi/driver) on a unix socket.
//
// A module of its own, since they depend on many modules that nothing else here needs. It is not part of
// "go test ./..." of the main module: "bash .ci/nightly sidecars" runs it.
package sidecars
