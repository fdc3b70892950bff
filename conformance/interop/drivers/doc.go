// Package drivers runs CSI drivers that others wrote, as they are, under this project's sidecars
// and kubelets: the mock driver of Kubernetes' end-to-end tests, and the driver of Google's
// persistent disks with the cloud and the mounts that it has for its own tests. Each is a program of
// its own (mock, pd) that listens on a unix socket, where csi.AtEndpoint finds it. The tests see that a volume goes
// all the way to a running pod and back, and which calls the driver got.
//
// Not part of the main module, since what the drivers need is large, and older than what it needs.
package drivers
