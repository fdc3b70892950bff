// Package nfs is the volume plugin "kubernetes.io/nfs", and the servers that it
// mounts from.
//
// A Server is a directory on the machine that runs the simulation, outside of all
// nodes' directories, with a list of exports. A Network is the servers that nodes
// can reach, by the name or address that a volume gives. Every mount of one export
// is that one directory: two nodes see each other's files at once. What a server
// does not export, and a server that is not there, fails as mount.nfs(8) fails, and
// the kubelet tries again.
//
// Upstream: pkg/volume/nfs/nfs.go, v1.37.
//
// Deviations:
//
//   - There is no protocol: no version, no lock, no stale handle, no squashing of
//     root, and a server that cannot be reached is known at once. Mount options are
//     kept and listed; "ro" is the only one with an effect.
//   - A link in an export that leads out of it is refused; a real client would look
//     for its target on its own disk.
//   - TearDown never has to force an unmount. While a server is silent (disk.ErrSilent in a machine.Fault) mounting and unmounting hang as upstream,
//     and so do programs that use a mounted share.
//   - Recycling is the PV controller's work (package pvcontroller).
//
// As upstream, spec.nfs.readOnly of a PersistentVolume has no effect: what counts is
// readOnly of the pod's persistentVolumeClaim volume, or of a pod's own nfs volume.
package nfs
