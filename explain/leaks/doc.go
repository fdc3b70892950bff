// Package leaks finds what was left behind: volumes that no PersistentVolume refers to,
// attachments and mounts that no pod uses, directories, helper pods. Find compares what the
// backends hold, the API's objects, the nodes' directories and the mounts, which it reads
// through a View. It changes nothing.
//
//	leak.go         Leak, its kinds, and Error
//	find.go         View, Find: volumes, claims, attachments and helper pods
//	directories.go  directories that were made for volumes, on nodes and NFS servers
//	csi.go          what a CSI driver holds
//	nodes.go        what nodes keep of pods
//	lost.go         Lost: what users have, and backends do not hold
//	upstream.go     the leak that upstream's provisioner library has, too
//
// These are leaks:
//
//   - a volume of a backend (provisioner.Inventory) without a PersistentVolume, and a
//     PersistentVolume whose volume the backend does not hold;
//   - a provisioned volume with reclaim policy Delete whose claim is gone, and a
//     bound claim without its volume;
//   - a snapshot of a CSI driver without a VolumeSnapshotContent;
//   - a volume of a CSI driver (csi.Driver.Inventory) without a PersistentVolume, and
//     the opposite; a volume that the driver has attached without a VolumeAttachment, or has
//     staged or published for a pod that is gone, or at a path that it was not given;
//   - a VolumeAttachment of a node or a volume that is gone, and one that the
//     attach/detach controller made for pods that are gone;
//   - a provisioner's helper pod, and a directory that one of these or a provisioner
//     made, on a node or an NFS server, and that no PersistentVolume uses;
//   - a directory, a mount, or a container runtime's record of a pod that is not
//     on the node any more, and a mount's record without the mount.
//
// If a provisioner's process ends after it made a volume and before it created the
// PersistentVolume, and the claim is deleted meanwhile, nothing refers to the volume. That is
// a leak of the upstream library, and of csi-provisioner; Leak.Known says so.
//
// What was made is known from the trace: programs in pods and provisioners report it
// (trace.Asset). A report that is older than the trace is lost, and a process may end before
// it reports. So Find also searches the directories in which provisioners make volumes, and
// those that NFS servers export, for names that the library gives to volumes ("pvc-" and the
// claim's UID) and of which no PersistentVolume was created. It does so only while the trace
// is complete.
package leaks
