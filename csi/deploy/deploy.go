// Package deploy describes a CSI driver to a cluster: its name and its actors. It does not link gRPC; package csi,
// whose Driver implements Driver, does.
package deploy

import (
	"cmp"
	"time"

	storagev1 "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi/socket"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/trace"
)

// Driver is a CSI driver that can be deployed: a csi.Driver, or the configuration of one.
type Driver interface {
	// Deploy returns the actors to run in a cluster, or an error if the driver is invalid.
	Deploy(w World) (Plan, error)
}

// World holds the parts of a cluster that a driver's actors need.
type World struct {
	Sockets *socket.Table
	// Crash ends an actor's process and starts it again after a time.
	Crash func(actor string, downtime time.Duration)
}

// Plan describes the actors of a driver.
type Plan struct {
	// Name is the driver's name, Spec that of its CSIDriver object.
	Name string
	Spec storagev1.CSIDriverSpec
	// Controller returns the actors of its Deployment, on a host of its own; nil if it has no
	// Deployment. Node returns the actors of its DaemonSet on a node.
	Controller, Node func(h Host) []Actor
	// Snapshots returns the actors that the Deployment has in addition in a cluster with snapshots;
	// nil if there are none.
	Snapshots func(h Host) []Actor
	// CheckNode returns an error if the driver cannot run on a node. It is called before the driver has actors
	// there.
	CheckNode func(h Host) error
	// FSTypes holds, by type, file systems that nodes can mount from a source that is on no node.
	FSTypes map[string]func(source string) (*disk.Disk, error)
	// Provisioner is the configuration of the library in its provisioner; nil if it has no provisioner. Waits says
	// why that provisioner works on nothing, "" if it works.
	Provisioner *provisioner.Config
	Waits       func(log *trace.Log) string
	// AttacherWaits says the same of its attacher; nil if it has none.
	AttacherWaits func(log *trace.Log) string
	// Inventory, if set, lists what the driver holds.
	Inventory Inventory
	// RealPaths reports whether the driver's nodes get paths of the computer that runs the simulation, at which they may
	// mount.
	RealPaths bool
}

// Actor is an actor of a driver.
type Actor struct {
	Name    string
	Factory control.Factory
}

// Host is the machine on which a driver's process runs.
type Host struct {
	// Machine has its disk and its mounts; it outlives the process.
	Machine *machine.Machine
	// Node is the name of the Node; "" for a controller.
	Node string
	// Now is the virtual time.
	Now func() time.Time
}

// Inventory lists what a driver holds.
type Inventory interface {
	// Holdings returns everything, in any order.
	Holdings() Holdings
}

// Holdings lists what a driver holds: volumes, snapshots, attachments and mounts.
type Holdings struct {
	// Volumes holds the IDs of all volumes that the driver has created.
	Volumes []string
	// Others says of a volume that the driver has not created whether it exists; nil if none does.
	Others func(id string) bool
	// Snapshots holds the IDs of all snapshots.
	Snapshots []string
	// Attached, Staged and Published hold the places of volumes. Those of Staged and Published have the path, as the
	// kubelet gave it.
	Attached, Staged, Published []Place
}

// Place is a volume at a node or path. Node is the node's ID in the answer of NodeGetInfo.
type Place struct{ Volume, Node, Path string }

// Compare orders places by volume, node and path.
func (p Place) Compare(other Place) int {
	return cmp.Or(cmp.Compare(p.Volume, other.Volume), cmp.Compare(p.Node, other.Node), cmp.Compare(p.Path, other.Path))
}
