// Package driver is the reference CSI driver, csi.storagesim.io: small enough to be read, and complete enough to be
// an example. Begin with CreateVolume in controller.go and NodeStageVolume in node.go.
//
// # Its storage
//
// A Backend keeps volumes in directories on the driver's own machine, "host/NAME":
//
//	/volumes/ID/volume.json   what the volume is, and to which nodes it is attached
//	/volumes/ID/data          its files
//	/volumes/ID/data/device   the one file of a raw block volume
//	/snapshots/ID/snapshot.json, /snapshots/ID/data
//	                          a snapshot, with a copy of the volume's files
//	/groups/ID/group.json     a group snapshot: which snapshots were taken at one moment
//
// So nothing that matters is in the memory of a process, and a crash loses nothing: a controller that starts adds up
// the volumes' sizes, and keeps the sum from then on. A volume's ID follows from its name, which makes CreateVolume
// idempotent.
//
// # How a volume comes to a pod
//
//	snapshot.go    CreateSnapshot and its like; copy.go fills a volume with a snapshot or a volume
//	group.go       CreateVolumeGroupSnapshot and its like
//	modify.go      ControllerModifyVolume
//	controller.go  CreateVolume, DeleteVolume; attach.go ControllerPublishVolume and its like
//	node.go        NodeStageVolume mounts the volume's directory from the host, as a network
//	               file system would, or connects its device; NodePublishVolume bind mounts
//	               the staging path for a pod
//
// The node's server refuses to stage a volume that is not attached to the node, and to publish one that is not
// staged. It checks requests as the specification demands. It does not touch a path that it refuses, or one with
// something else than the volume. With Config.NoStage NodePublishVolume mounts the volume itself.
//
// # Limits
//
// A device is a file without a fixed size. A node has a copy of it while it is staged there, which begins with what
// other nodes have written by then; it does not see what they write later. Snapshots and clones have what was
// written to it; of what two nodes write at the same time, one is lost. On a disk in memory a volume's files cannot
// take more than its size (ENOSPC); on a directory the size is only checked against the backend's capacity. Snapshots
// and clones are copies of all files at that moment, not of blocks; the files' owners become the driver's. Snapshots do not
// count in the capacity, and outlive their volumes.
package driver

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/csi/deploy"
	"github.com/storagesim/storagesim/csi/provisioner"
	"github.com/storagesim/storagesim/machine/disk"
)

// Name is the driver's name unless Config says otherwise.
const Name = "csi.storagesim.io"

// Config configures the driver. The zero value works.
type Config struct {
	// Name is the driver's name; default Name.
	Name string
	// NoAttach makes volumes that are staged without being attached, like network file systems (attachRequired:
	// false).
	NoAttach bool
	// NoStage removes NodeStageVolume (no capability STAGE_UNSTAGE_VOLUME): NodePublishVolume mounts each pod's
	// volume.
	NoStage bool
	// Topology makes each volume reachable from one node only, the one that the provisioner prefers.
	Topology bool
	// TopologyKey is the key of Topology; default "topology." and the name, then "/node".
	TopologyKey string
	// Handle is the form of the IDs of the volumes that the driver creates: {id} stands for an ID of the driver's own, and {name} for the name
	// that the volume was given. Default "{id}".
	Handle string
	// HandleAttribute is the key of the attribute (volume_context) that holds the ID of a volume that the driver creates; default none.
	HandleAttribute string
	// AnyVolume lets volumes exist that the driver has not created. A PersistentVolume or VolumeAttachment can name any
	// volume, which exists, empty and without a size, from its first use and until DeleteVolume. A volume that is
	// published without being staged is inline (Ephemeral): it lives while it is published. Snapshots that the driver has not taken exist
	// in the same way, and VolumeAttributesClasses can have any parameters.
	AnyVolume bool
	// OnNodes runs a controller on each node, with a provisioner beside it (--node-deployment). A volume is a
	// directory of its node's own disk, below /var/lib and the driver's name. OnNodes sets NoAttach, Topology and
	// NoSnapshots, and excludes AttributesClasses: nodes have no resizer and no snapshotter.
	OnNodes bool
	// Capacity is the number of bytes of all volumes together, with Topology or OnNodes of each node's; default 1
	// TiB.
	Capacity int64
	// MaxVolumes limits the volumes that a node can have attached; default 0, no limit.
	MaxVolumes int64
	// NoSnapshots removes snapshots (no capabilities CREATE_DELETE_SNAPSHOT and LIST_SNAPSHOTS).
	NoSnapshots bool
	// NoGroupSnapshots removes snapshots of several volumes at one moment (no capability GROUP_CONTROLLER_SERVICE).
	// NoSnapshots does that, too.
	NoGroupSnapshots bool
	// NoClones removes creating a volume from another one (no capability CLONE_VOLUME).
	NoClones bool
	// AttributesClasses lets volumes take VolumeAttributesClasses with the parameter iops, a positive number
	// (capability MODIFY_VOLUME).
	AttributesClasses bool
	// StorageCapacity makes the provisioner publish the capacity, and the scheduler look at it, by the CSIDriver
	// object.
	StorageCapacity bool
}

var _ deploy.Driver = Config{}

// Deploy implements deploy.Driver, so that Cluster.InstallCSIDriver takes a Config.
func (cfg Config) Deploy(w csi.World) (deploy.Plan, error) {
	d, err := New(cfg)
	if err != nil {
		return deploy.Plan{}, err
	}
	return d.Deploy(w)
}

// New returns a driver with a backend of its own, for one cluster.
func New(cfg Config) (csi.Driver, error) {
	if cfg.Name == "" {
		cfg.Name = Name
	}
	switch {
	case cfg.Capacity < 0:
		return csi.Driver{}, fmt.Errorf("driver.Config.Capacity: %d is negative; it must be positive, or 0 for the default of 1 TiB", cfg.Capacity)
	case cfg.MaxVolumes < 0:
		return csi.Driver{}, fmt.Errorf("driver.Config.MaxVolumes: %d is negative; it must be positive, or 0 for no limit", cfg.MaxVolumes)
	case cfg.Handle != "" && strings.Count(cfg.Handle, "{id}") != 1:
		return csi.Driver{}, fmt.Errorf("driver.Config.Handle: %q must have {id} once", cfg.Handle)
	case cfg.AnyVolume && (cfg.NoStage || cfg.OnNodes):
		return csi.Driver{}, errors.New("driver.Config.AnyVolume: it excludes NoStage and OnNodes")
	case cfg.Capacity == 0:
		cfg.Capacity = 1 << 40
	}
	if cfg.OnNodes {
		return newOnNodes(cfg)
	}
	b := newBackend(cfg)
	attach, policy := !cfg.NoAttach, storagev1.FileFSGroupPolicy
	return csi.Driver{
		Interceptors: []grpc.UnaryServerInterceptor{b.oneAtATime},
		Name:         cfg.Name, Identity: identity{name: cfg.Name, topology: cfg.Topology, groups: cfg.groups()},
		NewController: func(h csi.Host) (spec.ControllerServer, error) {
			b.requests.Lock()
			defer b.requests.Unlock()
			b.now = h.Now
			return &controller{Backend: b}, b.start(h.Machine.Disk())
		},
		Node: func(h csi.Host) (spec.NodeServer, error) {
			b.requests.Lock()
			defer b.requests.Unlock()
			n := &node{Backend: b, name: h.Node, disk: h.Machine.Disk(), mounter: h.Machine.Mounter()}
			b.nodes[h.Node], b.disks[h.Node] = true, n.disk
			return n, n.remember()
		},
		Spec:      storagev1.CSIDriverSpec{AttachRequired: &attach, FSGroupPolicy: &policy, StorageCapacity: &cfg.StorageCapacity},
		FSTypes:   map[string]func(string) (*disk.Disk, error){fsTypeOf(cfg.Name): b.open},
		Sidecars:  csi.Sidecars{Provisioner: func(c *provisioner.Config) { c.EnableCapacity = cfg.StorageCapacity }},
		Inventory: b,
	}, nil
}

func newBackend(cfg Config) *Backend {
	return &Backend{
		cfg: cfg, nodes: map[string]bool{}, disks: map[string]*disk.Disk{}, devices: map[onNode][sha256.Size]byte{},
		staged: map[csi.Place]bool{}, published: map[csi.Place]bool{},
	}
}

// fsTypeOf returns the file system type that a driver's nodes mount with.
func fsTypeOf(name string) string { return "fuse." + name }

var errNoVolume = errors.New("no such volume")
