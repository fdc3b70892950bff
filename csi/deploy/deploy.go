// Package deploy is what a cluster knows of a CSI driver: what it is called and which actors
// it has. It does not link gRPC; package csi, whose Driver implements Driver, does.
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
	// Deploy says what is to run in a cluster, or what is wrong with the driver.
	Deploy(w World) (Plan, error)
}

// World is what a driver's actors are put in.
type World struct {
	Sockets *socket.Table
	// Crash ends an actor's process and starts it again after a time.
	Crash func(actor string, downtime time.Duration)
}

// Plan is what is to run of a driver.
type Plan struct {
	// Name is the driver's, Spec that of its CSIDriver object.
	Name string
	Spec storagev1.CSIDriverSpec
	// Controller are the actors of its Deployment, on a host of its own; nil if it has none.
	// Node are those of its DaemonSet on a node.
	Controller, Node func(h Host) []Actor
	// Snapshots are those that the Deployment has in addition in a cluster with snapshots; nil if
	// it has none.
	Snapshots func(h Host) []Actor
	// CheckNode says what is wrong with the driver on a node, before it has actors there.
	CheckNode func(h Host) error
	// FSTypes are file systems that nodes can mount from a source that is on no node, by type.
	FSTypes map[string]func(source string) (*disk.Disk, error)
	// Provisioner is what its provisioner configures the provisioner library with; nil if
	// it has none. Waits says why that provisioner works on nothing at all, "" if it works.
	Provisioner *provisioner.Config
	Waits       func(log *trace.Log) string
	// AttacherWaits says the same of its attacher; nil if it has none.
	AttacherWaits func(log *trace.Log) string
	// Inventory, if set, says what the driver holds.
	Inventory Inventory
}

// Actor is an actor of a driver.
type Actor struct {
	Name    string
	Factory control.Factory
}

// Host is where a driver's process runs.
type Host struct {
	// Machine has its disk and its mounts; it outlives the process.
	Machine *machine.Machine
	// Node is the name of the Node; "" for a controller.
	Node string
	// Now is the virtual time.
	Now func() time.Time
}

// Inventory says what a driver holds.
type Inventory interface {
	// Holdings is all of it, in any order.
	Holdings() Holdings
}

// Holdings is what a driver holds.
type Holdings struct {
	// Volumes are the IDs of all volumes.
	Volumes []string
	// Snapshots are the IDs of all snapshots.
	Snapshots []string
	// Attached, Staged and Published say where volumes are. Staged and Published have the
	// path, as the kubelet gave it.
	Attached, Staged, Published []Place
}

// Place is where a volume is. Node is the node's ID, as NodeGetInfo answers it.
type Place struct{ Volume, Node, Path string }

// Compare orders places by volume, node and path.
func (p Place) Compare(other Place) int {
	return cmp.Or(cmp.Compare(p.Volume, other.Volume), cmp.Compare(p.Node, other.Node), cmp.Compare(p.Path, other.Path))
}
