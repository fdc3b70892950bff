// Package kubelet is one node's kubelet, as far as volumes reach: it registers
// the node, mounts the volumes of the pods bound to it, reports the pods as
// running, and takes everything away again when they go.
//
// # How it works
//
// Each of upstream's loops is a queue here, and each file of this package is one
// of them or one part of it:
//
//	node.go         registers the Node object; csinode.go the CSINode object and
//	                CSI drivers; nodestatus.go keeps the node's status
//	pods.go         one podWorker a pod, by UID
//	populate.go     pod -> claim -> PV -> desired state of the world
//	reconcile.go    compares desired (desired.go) and actual (actual.go) state:
//	                unmount, mount, unmount devices, clean up, in this order, as
//	                far as something of them is new (touch)
//	operations.go   carries one mount or unmount out, with backoff per volume
//	attach.go       volumesInUse, and waiting for volumesAttached
//	wait.go         a pod's wait for its volumes, and what it is told meanwhile
//	reconstruct.go  finds an earlier life's mounts on disk; rebuild.go raw devices and what
//	                is mounted for the node
//	registration.go CSI drivers that register with a plugin
//	syncpod.go      Pending -> Running -> Terminating -> gone
//	map.go          gives a pod a raw device, as far as its plugin makes it
//	restarts.go     which containers are started, and started again, and when;
//	                backoff.go how long those wait that keep ending
//	containers.go   what the container runtime knows of a pod, as the kubelet sees it
//	start.go        starts containers; images.go their images; environment.go is
//	                their environment
//	subpath.go      mounts the parts of volumes that containers ask for
//	deadline.go     ends pods that are active for longer than they may
//	status.go       writes a pod's status; podstatus.go says what it is to be,
//	                phase.go and conditions.go parts of it
//	objects.go      ConfigMaps and Secrets for volumes, and their changes
//	files.go        a container's files, from outside
//	remnants.go     what a node has because of pods
//
// A pod's change, the end of an operation or a backoff brings the next pass. Only
// two things are done regularly, as long as there is need: volumes made of ConfigMaps
// and Secrets are set up again every minute, and pods some of whose volumes cannot be
// processed (an unbound claim) are looked at every 10 s. The node's status is written
// only when something in it is new, and then at its next turn, every 10 s from the
// kubelet's start. A pod that is deleted goes in this order: status written, containers
// stopped, status written, volumes unmounted, directories removed, what is not known of
// its containers written as failed, API object deleted. A crash at
// any point is repaired after the restart: what is mounted is read from the
// node's disk as uncertain, and nothing is unmounted before all pods were looked
// at.
//
// # The node's disk
//
// Everything is below the node's own directory (package disk), laid out as
// upstream's: /var/lib/kubelet/pods/<uid>/volumes/<plugin>/<name>, "/" in the
// plugin's name written "~", and for a part of a volume (subPath)
// /var/lib/kubelet/pods/<uid>/volume-subpaths/<name>/<container>/<number>. That an
// emptyDir was set up is noted in pods/<uid>/plugins/<plugin>/<name>/ready. The mount
// table is in /run/mounts, the images of package runtime in /run/containerd/images.
//
// If a link is put in place of a pod's directory, or of one in it down to the
// plugin's, nothing is read, made, changed or removed through it, since it may lead to
// another pod's data. The pod's volumes fail, or its end waits, until the link is gone.
//
// # Containers
//
// A container runtime runs them: Config.Runtime, of which the kubelet knows only the
// interface runtime.Service. Whether a container runs, its address, exit code, restart
// count and mounts are what the runtime says; what is to be started, and when, the kubelet
// decides. A kubelet that starts asks the runtime what runs. Only why a container waits
// (a backoff, an image) is the kubelet's own, and lost with it, as upstream's.
//
// Package runtime says which commands can be carried out, and what becomes of the others.
// ReadFile, WriteFile and List do what a container would.
//
// xfs_quota, chattr and setquota record project quotas (shell.Quotas). Disks in memory
// enforce them; in a directory of the machine that runs the simulation a real quota would
// need privilege and a file system of its own.
//
// # Deviations
//
//   - With package runtime a killed container reports exit code 0; so a deleted pod is
//     Succeeded, never Failed, for the moment before it is gone. Stopping takes no time.
//   - An ephemeral container runs beside the others; no container sees the processes of
//     another, so that its target has no effect. It finds those volumes of its pod that
//     another container has, too.
//   - There are no probes, hooks, resource limits, evictions, static pods, node leases or
//     heartbeats. The kubelet admits every pod.
//   - The runtime tells the kubelet when a container has ended; upstream asks every
//     second (PLEG). Only a pod that is deleted while it waits for its volumes ends as
//     late as upstream's: what is mounted meanwhile depends on it.
//   - Times between attempts have no random part, which upstream adds to the 10 s of
//     pods whose volumes cannot be processed.
//   - That a pod's containers can be started is written before they are started, and
//     what they do after that; upstream writes beside them.
//   - Claims and PVs are read live, as upstream does, and so is the Node when a
//     PV has node affinity, which upstream reads from a cache.
//   - A living pod whose claims cannot be read keeps what is mounted for it after
//     a restart; upstream would unmount what it cannot place.
//   - A volume whose SetUp failed is uncertain if its directory is still there;
//     upstream relies on the plugin to say so.
//   - A part of a volume is mounted where upstream mounts it, but containers go to it
//     through the volume, at every access, and cannot be led out: the mount may be a
//     link (package mount), which would follow whatever is put in its place. So they
//     see what a real container keeps from its start, as where a ConfigMap changes;
//     the mount leads nowhere then. What a restarted kubelet finds mounted of a host
//     path's parts it unmounts; upstream leaves that to an administrator.
//   - One volume of a node is mounted or unmounted at a time. While a plugin waits, the
//     others wait, where upstream works on several volumes at once.
//   - Block volumes of plugins that make no device themselves, as the local one, are
//     refused by name, for mapping a device takes privilege.
//     The metrics are not here yet.
//   - Changing a volume's ownership takes no time, so there is no event that it is slow
//     (VolumePermissionChangeInProgress).
//   - Containers that could not be created are tried again after 10s, 20s, and so on
//     up to 5 minutes; upstream tries every 10s or so.
//   - One that waits in CrashLoopBackOff is looked at when its backoff is over; upstream
//     also looks every minute, and says BackOff again each time.
//     Containers with restart policies of their own, sidecars too, have their pod's.
//   - Of the built-in plugins only that of package kubelet/csi, which is not among the
//     default ones here since it takes the sockets of a node, is attachable.
//   - What is mounted for the node and shows in no pod's directory is found after a restart
//     if its plugin can (volume.StagingPlugin), and unmounted if no pod wants it. Upstream
//     leaves it.
//   - A container's environment has no values from ConfigMaps, Secrets and resources;
//     only a subPathExpr and the commands read it.
//   - The kubelet does not wait until a pod's missing volumes are listed in the trace, after 2m3s: a
//     cluster at rest may be one in which a pod lacks some.
package kubelet
