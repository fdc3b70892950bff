// Package hostpath is the volume plugin "kubernetes.io/host-path": a file or
// directory of the node, as it is, for volumes of pods and for PVs.
//
// Nothing is mounted: SetUp checks (and makes, if the type says so) the path, and
// the container runtime gives that very path to the containers. So there is
// nothing below the pod's directory either, and nothing to reconstruct.
//
// Upstream: pkg/volume/hostpath/host_path.go, v1.37.
//
// Deviations: the recycler, and provisioning and deleting of hostPath PVs, which
// upstream has for tests only, are left out. The path is one of the node's own
// directory (package disk), whatever it says.
package hostpath
