// Package csi is the volume plugin "kubernetes.io/csi": it has CSI drivers mount volumes,
// over gRPC, and registers the drivers of a node.
//
// # How it works
//
//	registration.go  watches for registration sockets in /var/lib/kubelet/plugins_registry
//	register.go      asks what is there who it is, and registers or removes it
//	plugin.go        which volumes are the plugin's, and what they are called
//	stage.go         NodeStageVolume and NodeUnstageVolume, once for the node
//	publish.go       NodePublishVolume and NodeUnpublishVolume, for each pod
//	request.go       what a pod's publish call says: attributes, secrets, tokens
//	block.go         both for raw devices
//	client.go        the calls, which package csi/call carries out, and which of their errors are final
//	data.go          vol_data.json, which says after a restart what a directory is
//	stats.go         NodeGetVolumeStats
//
// A Node is made once for each node and outlives the crashes of its kubelet; NewPlugin makes
// a plugin for each life. What drivers are registered is lost with the kubelet, as upstream:
// until a driver has registered again its volumes cannot be mounted.
//
// # The node's disk
//
// As upstream lays it out, below /var/lib/kubelet:
//
//	plugins/kubernetes.io/csi/DRIVER/<sha256 of the handle>/globalmount   staged here
//	plugins/kubernetes.io/csi/DRIVER/<sha256 of the handle>/vol_data.json
//	pods/UID/volumes/kubernetes.io~csi/PV/mount                           published here
//	pods/UID/volumes/kubernetes.io~csi/PV/vol_data.json
//	plugins/kubernetes.io/csi/volumeDevices/PV/{dev,data}                 raw devices
//	plugins/kubernetes.io/csi/volumeDevices/staging/PV
//	plugins/kubernetes.io/csi/volumeDevices/publish/PV/UID
//
// # Deviations
//
//   - A staged volume that no pod's directory shows is found after a restart by the
//     vol_data.json beside it, and unstaged if no pod wants it. Upstream looks into pods'
//     directories only and leaves it staged.
//   - A driver that cannot say its capabilities leaves a volume in doubt that was so;
//     upstream forgets it, and it stays mounted.
//   - Service account tokens are a text that says that it is none.
//   - The condition of a volume is not looked at (event VolumeConditionAbnormal: CSIVolumeHealth is
//     alpha, and off upstream).
//   - There are no in-tree volumes that drivers take over, and no SELinux labels.
//   - A pod that is rejected since the node is full keeps the statuses of its containers and its
//     conditions; upstream removes them and writes them again.
//
// Upstream: pkg/volume/csi and pkg/kubelet/pluginmanager, v1.36.
package csi
