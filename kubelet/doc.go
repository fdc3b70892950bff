// Package kubelet is one node's kubelet, as far as volumes reach: it registers
// the node, mounts the volumes of the pods bound to it, reports the pods as
// running, and takes everything away again when they go.
//
// # How it works
//
// Each of upstream's loops is a queue here. The kubelet has four parts: package volumemanager
// mounts the volumes, package nodestatus registers the node and keeps its status and lease,
// package prober probes containers, and
// the files of this package run the pods:
//
//	kubelet.go         makes a kubelet of its parts
//	pods.go            one podWorker for each pod, by UID
//	syncpod.go         Pending -> Running -> Terminating -> gone
//	wait.go            a pod's wait for its volumes
//	deadline.go        ends pods that are active for longer than they may
//	eviction.go        ends pods whose containers and emptyDir volumes hold more than they may
//	probes.go          kills containers whose probes fail; package prober probes them
//	restarts.go        decides which containers start, and start again, and when; restartpolicy.go by which policy;
//	                   backoff.go has the backoff of those that keep ending; restartall.go restarts all of a pod
//	containers.go      the container runtime's state of a pod, as the kubelet sees it
//	grace.go           stops containers, knows how long they have to end, and waits for it
//	hooks.go           runs the hooks of containers: postStart and preStop
//	start.go           starts containers; images.go pulls their images; environment.go makes
//	                   their environment, envsources.go reads what it comes from
//	status.go          writes a pod's status; podstatus.go makes it, phase.go and
//	                   conditions.go make parts of it
//	files.go           reads and writes a container's files, from outside
//	server.go          answers the API server: commands and logs
//	summary.go         answers it, too: what is on disks; volumestats.go finds out how full volumes are
//	leftovers.go        lists the directories, mounts and sandboxes of pods on a node
//
// A pod's change, the end of an operation or a backoff wakes the pod's worker. A pod that is
// deleted goes in this order: status written, containers stopped, status written, volumes
// unmounted, directories removed, containers of unknown state written as failed, API
// object deleted. A status that cannot be written holds up none of these steps but the last one: it is
// written when it can be, and the API object is deleted after that. A container has its grace period to end, and the pod's worker waits for it: until
// then the volumes stay mounted. A grace period that becomes shorter meanwhile changes nothing, as
// upstream. A crash at any point is repaired after the restart: mounts are read from the
// node's disk, and nothing is unmounted before all pods were looked at.
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
// count and mounts come from the runtime; the kubelet decides what to start, and when. A kubelet that starts asks the runtime
// what runs. Only why a container waits (a backoff, an image) is the kubelet's own, and lost with it, as upstream's.
//
// Package runtime says which commands it can run, and what happens with the others.
// ReadFile, WriteFile and List do what a container would.
//
// xfs_quota, chattr and setquota record project quotas (shell.Quotas). Disks in memory
// enforce them; in a directory of the machine that runs the simulation a real quota would
// need privilege and a file system of its own.
//
// # How full volumes are
//
// The kubelet tells it in /stats/summary and, of the volumes of claims, in /metrics. Where the numbers come from depends on the kind of the volume:
//
//   - CSI: the driver's answer to NodeGetVolumeStats, if it has the capability GET_VOLUME_STATS; also of a raw device.
//   - local and nfs: the file system that is mounted. A local volume that is a directory of the node's disk tells of that whole disk.
//   - emptyDir, configMap, secret, downwardAPI and projected: the bytes used count what is in the directory, and the size is that of the node's disk.
//   - A local raw device has a size and nothing more.
//   - hostPath and image have no numbers.
//
// # Deviations
//
// Package volumemanager lists those about volumes.
//
//   - An ephemeral container runs beside the others; no container sees the processes of
//     another, so that its target has no effect. It has the volumes of its pod that
//     another container has, too.
//   - Probes by httpGet, tcpSocket and grpc succeed while the container runs, and a probe that
//     cannot be run for a reason of the runtime's is tried once, not three times. A hook by httpGet succeeds. There are no resource limits or static pods,
//     and a pod is evicted for the sizeLimit of an emptyDir and the ephemeral-storage of containers alone.
//   - When a kubelet sees a pod for the first time it refuses it for the node's affinity or taints, as it last read the Node:
//     at its start, and when it last wrote the status. Upstream has an informer of the Node, and looks at resources and ports, too.
//     A Node that is cordoned is told of in an event then, too; upstream looks every ten seconds.
//   - The runtime tells the kubelet when a container has ended; upstream asks every
//     second (PLEG). The volumes of a pod are looked at again as soon as a container of it
//     has started, as upstream does within that second. Only a pod that is deleted while it waits for its volumes ends as
//     late as upstream's: which volumes are mounted meanwhile depends on it.
//   - The kubelet writes that a pod's containers can be started, starts them, and then writes
//     what they do; upstream starts them and writes at the same time.
//   - The summary and the metrics of a kubelet (summary.go) have what is on disks, and nothing of processors, memory, network, processes and images.
//     The kubelet looks how full volumes are when a client asks and the last look is a minute ago; upstream's looks by itself, every one to two minutes.
//   - A container in CrashLoopBackOff is looked at when its backoff is over; upstream
//     also looks every minute, and says BackOff again each time.
//   - A container's environment has no variables for Services and none from files.
package kubelet
