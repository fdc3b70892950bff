// Package volumemanager mounts the volumes of one node's pods, and unmounts them. It compares
// two states of the world: the volumes that pods should have, and those that are mounted. It
// sees the kubelet through two small interfaces, Pods and Waker. Begin with VolumeManager in
// volumemanager.go, and then read reconcile.go.
//
//	populate.go        from a pod to its claims and PersistentVolumes, into the desired state
//	desired.go         the desired state of the world; sizes.go: of volumes that can grow
//	actual.go          the actual state of the world; podvolumes.go: the key of both
//	reconcile.go       compares both states: unmount, mount, expand, unmount devices, clean up
//	operations.go      the queue of operations, with a backoff for each
//	mount.go           mounts and unmounts, for a pod and for the node; objects.go reads the
//	                   ConfigMaps and Secrets of a volume before
//	map.go             the same for raw devices
//	expand.go          expands a volume on the node; nodeexpander.go: one expansion
//	attach.go          volumesInUse, and waiting for volumesAttached
//	reconstruct.go     finds the mounts of the kubelet's earlier life on the disk
//	subpath.go         mounts parts of volumes (subPath) for containers
//	wait.go            which volumes a pod lacks
//	poddir.go          removes the directory of a pod that has ended
//	host.go            the kubelet as volume plugins see it
//
// # What starts a pass
//
// A pass looks only at volumes that were touched: because a pod came, changed or ended, because
// an operation has ended, or because the node's status was written. Two things are done
// regularly, from the first volume on that needs them: volumes made of ConfigMaps and Secrets
// are set up again every minute, and volumes that could not be processed (an unbound claim)
// are processed again every 10 s.
//
// After a restart nothing is unmounted before all pods were looked at. What is found in the
// directories of pods is uncertain: it is set up again for a pod that wants it, and torn down if
// none does.
//
// # Upstream's faults
//
// The volume manager has those of v1.37, each with a field of Decisions that mends it:
//
//   - FindStaged: what is staged and in no pod's directory is forgotten after a restart
//     (kubernetes/kubernetes 121937).
//   - KeepInUse: a Node that is made anew has no volumesInUse, and what was found on the disk does
//     not get into it.
//   - KeepUnread: a volume whose claim cannot be read after a restart is unmounted under its pod.
//   - Final: a mount in doubt is forgotten if the driver does not say what it can do.
//   - DropUnmounted: a pod that has ended keeps its volumes wanted until they are mounted.
//   - CleanSubPaths: parts of a host path stay mounted if the pod goes while the kubelet is down.
//
// # Deviations
//
//   - Claims and PersistentVolumes are read from the API server each time, as upstream does,
//     and so is the Node when a volume has node affinity, which upstream reads from a cache.
//   - A volume whose SetUp failed is uncertain if its directory is still there, unless it is a
//     CSI volume; upstream relies on each plugin to say so.
//   - A part of a volume (subPath) is mounted where upstream mounts it, but containers do not go to it by that mount, which may be a
//     link (package mount) and would follow whatever is put in its place. A container goes on to see a directory of a disk in memory,
//     also if it is renamed or removed, and the files that a ConfigMap, a Secret and the like had when it started. To a file of another volume,
//     and to all in a directory of the machine that runs the simulation (DirectoryDisks), it goes through the volume at every access: it sees
//     what is at the path by then, where a real container keeps what was there at its start. The mount leads nowhere then.
//   - Operations of different volumes overlap as upstream's, but only if one waits for time or for
//     an answer from outside; the steps of two that do not wait never mix.
//   - A block volume of a plugin that maps no devices itself, as the local one, has links to its device;
//     upstream holds the device with a loop device.
//   - Changing a volume's ownership takes no time, so there is no event that it is slow
//     (VolumePermissionChangeInProgress).
//   - Of the built-in plugins only that of package kubelet/csi is attachable. It is not among
//     the default ones here, since it takes the sockets of a node.
//   - The kubelet does not wait until a pod's missing volumes are listed in the trace, after
//     2m3s: a cluster at rest may be one in which a pod lacks some.
//   - After a restart the volumes of pods are set up at once; upstream knows its pods a second
//     later. Only the unmounting waits for that.
//   - A volume that the resizer has made larger, and whose claim does not say so yet, is looked at once a minute;
//     upstream looks ten times a second.
//   - Times between attempts have no random part, which upstream adds to the 10 s of
//     pods whose volumes cannot be processed.
package volumemanager
