package volume

import (
	"context"

	"github.com/storagesim/storagesim/control"
)

// CSINodeDriver is what a CSI driver says of itself and of the node when it registers with
// a kubelet.
type CSINodeDriver struct {
	// Name is the driver's name; NodeID is what the driver calls this node. Both are
	// required.
	Name, NodeID string
	// Topology is where the node is, as labels; none if the driver has no topology.
	Topology map[string]string
	// MaxVolumes is how many volumes of this driver the node can have; 0 is no limit.
	MaxVolumes int32
}

// NodeInfoManager tells the API which CSI drivers a node has.
//
// Upstream: pkg/volume/csi/nodeinfomanager Interface, v1.36.
type NodeInfoManager interface {
	// InstallCSIDriver puts a driver into the Node and the CSINode object.
	InstallCSIDriver(ctx context.Context, driver CSINodeDriver) error
	// UpdateCSIDriver writes into the CSINode object what a driver says later.
	UpdateCSIDriver(ctx context.Context, driver CSINodeDriver) error
	// UninstallCSIDriver takes it out of both.
	UninstallCSIDriver(ctx context.Context, name string) error
}

// RegistrationPlugin is a plugin that what runs on the node registers with, as CSI drivers
// do.
//
// Upstream: pkg/kubelet/pluginmanager, v1.36.
type RegistrationPlugin interface {
	VolumePlugin
	// WatchRegistrations makes the queues for it. It is called once, after Init, when the
	// kubelet starts; Ready is called when the kubelet has registered its node.
	WatchRegistrations(env control.Env, nodes NodeInfoManager)
	// Ready says that drivers may be registered from now on.
	Ready()
}
