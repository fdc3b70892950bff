// Package csi is the volume plugin "kubernetes.io/csi": it calls CSI drivers, over gRPC, to mount
// volumes, and registers the drivers of a node.
//
// # How it works
//
//	registration.go  watches for registration sockets in /var/lib/kubelet/plugins_registry
//	register.go      asks a plugin for its name, and registers or removes it
//	plugin.go        the volumes of the plugin, and their names
//	stage.go         NodeStageVolume and NodeUnstageVolume, once for the node
//	publish.go       NodePublishVolume and NodeUnpublishVolume, for each pod
//	request.go       the fields of a pod's publish call: attributes, secrets, tokens
//	block.go         both for raw devices
//	client.go        the calls, which package csi/call carries out, and which of their errors are final
//	data.go          vol_data.json, which describes a directory after a restart
//	stats.go         NodeGetVolumeStats
//
// A Node is made once for each node and outlives the crashes of its kubelet; NewPlugin makes
// a plugin for each life. The registrations are lost with the kubelet, as upstream:
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
//   - A service account token is a text that says that it is not a token.
//   - The condition of a volume is ignored (event VolumeConditionAbnormal: CSIVolumeHealth is
//     alpha, and off upstream).
//   - There are no in-tree volumes that drivers take over, and no SELinux labels.
//   - A pod that is rejected since the node is full keeps the statuses of its containers and its
//     conditions; upstream removes them and writes them again.
//
// Upstream: pkg/volume/csi and pkg/kubelet/pluginmanager, v1.37.
package csi
