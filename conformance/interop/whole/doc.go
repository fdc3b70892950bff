// Package whole is a recorder of the whole stack: kube-apiserver, kube-controller-manager, kube-scheduler, two kubelets and all CSI sidecars,
// unmodified, with the CSI drivers of the recordings. It writes what they do in a case as a recording, with which package conformance
// compares the simulation.
//
//   - Command kubelet is upstream's kubelet with its real volume manager, plugin watcher and mounter, and a fake container runtime.
//   - Command record plays the cases of a folder: recordings, of which only the steps count. Each gets a stack of its own, which takes some 15 seconds.
//
// The other programs are built as in the modules beside this one (managers, apiserver). Those of kubernetes-csi are csi-provisioner v6.4.0,
// csi-attacher v4.13.0, csi-resizer v2.3.0, csi-snapshotter and snapshot-controller v8.7.0, each built in its own module. etcd is called
// "server", as go install calls it. All are searched for in the folders of -programs:
//
//	go build -o /tmp/programs/kubelet ./kubelet && go build -o /tmp/programs/record ./record
//	unshare -m /tmp/programs/record -programs /tmp/programs -cases CASES -out RECORDED
//	storagesim conformance RECORDED
//
// It needs Linux and root: each node is a mount namespace, in which /var/lib/kubelet, /srv/host and /srv/csi are the node's own and all else is read-only.
// The folders of these names and /var/log/containers, without which no kubelet starts, must be there or are made. Raw devices need loop devices.
//
// A module of its own, since it depends on all of Kubernetes. Recordings are made by hand: it has no tests, and no check runs it.
package whole
