// Package sidecars runs the real CSI sidecars, unmodified, against a server of this repository, and
// compares ours with them.
//
// The programs come from kubernetes-csi: csi-attacher, csi-resizer, csi-snapshotter and
// snapshot-controller are tools of this module's go.mod, csi-provisioner is a tool of the module in
// the folder provisioner, since its last available version, v6.3.0, does not compile with the
// client-go of the others. Each is a process: it reaches the API server over HTTPS, by a
// kubeconfig, and the reference driver (package csi/driver) on a unix socket.
//
// A module of its own, since they depend on many modules that nothing else here needs. It is not part of
// "go test ./..." of the main module: "bash .ci/nightly sidecars" runs it.
package sidecars
