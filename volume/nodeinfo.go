package volume

import (
	"context"

	"github.com/storagesim/storagesim/control"
)

// CSINodeDriver holds the answer of a CSI driver, about itself and the node, when it registers
// with a kubelet.
type CSINodeDriver struct {
	// Name is the driver's name, NodeID the driver's ID of this node. Both are required.
	Name, NodeID string
	// Topology holds the node's topology labels; empty if the driver has no topology.
	Topology map[string]string
	// MaxVolumes is the number of this driver's volumes that the node can have; 0 means no limit.
	MaxVolumes int32
}

// NodeInfoManager tells the API which CSI drivers a node has.
//
// Upstream: pkg/volume/csi/nodeinfomanager Interface, v1.37.
type NodeInfoManager interface {
	// InstallCSIDriver adds a driver to the Node and the CSINode object.
	InstallCSIDriver(ctx context.Context, driver CSINodeDriver) error
	// UpdateCSIDriver updates the driver's entry in the CSINode object.
	UpdateCSIDriver(ctx context.Context, driver CSINodeDriver) error
	// UninstallCSIDriver removes it from both.
	UninstallCSIDriver(ctx context.Context, name string) error
}

// RegistrationPlugin is a plugin with which programs on the node register, as CSI drivers do.
//
// Upstream: pkg/kubelet/pluginmanager, v1.37.
type RegistrationPlugin interface {
	VolumePlugin
	// WatchRegistrations starts to watch for them. It is called once, after Init, when the
	// kubelet starts; Ready is called when the kubelet has registered its node.
	WatchRegistrations(env control.Env, nodes NodeInfoManager)
	// Ready says that drivers may be registered from now on.
	Ready()
}
