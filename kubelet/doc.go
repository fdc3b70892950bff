// Package kubelet is one node's kubelet, as far as volumes reach: it registers
// the node, mounts the volumes of the pods bound to it, reports the pods as
// running, and takes everything away again when they go.
//
// # How it works
//
// Each of upstream's loops is a queue here, and each file of this package is one
// of them or one part of it:
//
//	node.go         registers the Node object
//	pods.go         one podWorker a pod, by UID
//	populate.go     pod -> claim -> PV -> desired state of the world
//	reconcile.go    compares desired (desired.go) and actual (actual.go) state:
//	                unmount, mount, unmount devices, clean up, in this order
//	operations.go   carries one mount or unmount out, with backoff per volume
//	reconstruct.go  finds an earlier life's mounts on disk
//	syncpod.go      Pending -> Running -> Terminating -> gone
//	start.go        starts containers; commands.go really runs some
//	status.go       pod status
//	files.go        a container's files, from outside
//	remnants.go     what pods have on the node's disk
//
// Nothing polls: a pod's change, the end of an operation or a backoff brings the
// next pass. A pod that is deleted goes in this order: containers stopped, status
// written, volumes unmounted, directories removed, API object deleted. A crash at
// any point is made good by the next life: what is mounted is read from the
// node's disk as uncertain, and nothing is unmounted before all pods were looked
// at.
//
// # The node's disk
//
// Everything is below the node's own directory (package nodefs), laid out as
// upstream's: /var/lib/kubelet/pods/<uid>/volumes/<plugin>/<name>, "/" in the
// plugin's name written "~". What the container runtime knows is in
// /run/containerd/pods, the mount table in /run/mounts.
//
// # Containers
//
// Processes are not run. A container just is running, except that in a pod with
// restartPolicy Never or OnFailure the commands of Config.Commands (mkdir, rm, find)
// are really carried out on the node's files, through the container's volumes and
// nowhere else; the container ends with exit code 0 or 1. Init containers end at
// once. ReadFile, WriteFile and List do what a container would.
//
// # Deviations
//
//   - A killed container reports exit code 0, where a real one that does not
//     handle the signal reports 143 or 137; so a deleted pod is Succeeded, never
//     Failed, for the moment before it is gone. Stopping takes no time.
//   - A container runtime's record that cannot be read is taken for none: the pod
//     is started again, or ends.
//   - There are no images, probes, hooks, resource limits, evictions, static
//     pods, node leases or heartbeats. The kubelet admits every pod.
//   - Claims and PVs are read live, as upstream does, and so is the Node when a
//     PV has node affinity, which upstream reads from a cache.
//   - A living pod whose claims cannot be read keeps what is mounted for it after
//     a restart; upstream would unmount what it cannot place.
//   - A volume whose SetUp failed is uncertain if its directory is still there;
//     upstream relies on the plugin to say so.
//   - Attachable volumes, block volumes, volumesInUse, expansion, RequiresRemount
//     and the metrics are not here yet.
//   - The event for a failed volume of a pod comes with every attempt of the
//     volume itself; upstream repeats a second one every two minutes.
package kubelet
