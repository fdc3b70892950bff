package driver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"sync"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/csi/provisioner"
	"github.com/storagesim/storagesim/machine/disk"
)

// onNodes is the storage of a driver with a controller on each node: a backend for each.
type onNodes struct {
	cfg      Config
	requests sync.Mutex // held during each request
	mu       sync.Mutex
	backends map[string]*Backend // by node
}

var _ csi.Inventory = (*onNodes)(nil)

// newOnNodes returns a driver that keeps volumes on the nodes' own disks.
func newOnNodes(cfg Config) (csi.Driver, error) {
	if cfg.AttributesClasses {
		return csi.Driver{}, errors.New("driver.Config.AttributesClasses: with OnNodes there is no resizer that would modify volumes")
	}
	cfg.NoAttach, cfg.Topology, cfg.NoSnapshots = true, true, true
	o := &onNodes{cfg: cfg, backends: map[string]*Backend{}}
	attach, policy := false, storagev1.FileFSGroupPolicy
	return csi.Driver{
		Interceptors: []grpc.UnaryServerInterceptor{o.oneAtATime},
		Name:         cfg.Name, Identity: identity{name: cfg.Name, topology: true},
		Node: func(h csi.Host) (spec.NodeServer, error) {
			o.requests.Lock()
			defer o.requests.Unlock()
			n := &node{Backend: o.of(h.Node), name: h.Node, disk: h.Machine.Disk(), mounter: h.Machine.Mounter()}
			n.disks[h.Node] = n.disk
			return n, n.remember()
		},
		NodeController: func(h csi.Host) (spec.ControllerServer, error) {
			o.requests.Lock()
			defer o.requests.Unlock()
			b := o.of(h.Node)
			b.now = h.Now
			return &controller{Backend: b}, b.start(h.Machine.Disk())
		},
		Spec:    storagev1.CSIDriverSpec{AttachRequired: &attach, FSGroupPolicy: &policy, StorageCapacity: &cfg.StorageCapacity},
		FSTypes: map[string]func(string) (*disk.Disk, error){fsTypeOf(cfg.Name): o.open},
		Sidecars: csi.Sidecars{Provisioner: func(c *provisioner.Config) {
			c.EnableCapacity, c.StrictTopology = cfg.StorageCapacity, true
		}},
		Inventory: o,
	}, nil
}

// of returns the backend of a node.
func (o *onNodes) of(node string) *Backend {
	o.mu.Lock()
	defer o.mu.Unlock()
	b := o.backends[node]
	if b == nil {
		b = newBackend(o.cfg)
		b.nodes[node], b.root = true, path.Join("/var/lib", o.cfg.Name)
		o.backends[node] = b
	}
	return b
}

// all returns the backends that have a disk, in order of their nodes.
func (o *onNodes) all() (list []*Backend) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, node := range slices.Sorted(maps.Keys(o.backends)) {
		if b := o.backends[node]; b.disk != nil {
			list = append(list, b)
		}
	}
	return list
}

// open opens a volume, on any node.
func (o *onNodes) open(source string) (*disk.Disk, error) {
	for _, b := range o.all() {
		if d, err := b.open(source); !errors.Is(err, errNoVolume) {
			return d, err
		}
	}
	return nil, fmt.Errorf("mount: special device %s: %w", source, errNoVolume)
}

// Holdings implements csi.Inventory.
func (o *onNodes) Holdings() csi.Holdings {
	var held csi.Holdings
	for _, b := range o.all() {
		of := b.Holdings()
		held.Volumes = append(held.Volumes, of.Volumes...)
		held.Staged = append(held.Staged, of.Staged...)
		held.Published = append(held.Published, of.Published...)
	}
	return held
}

// oneAtATime handles a request when no other is being handled.
func (o *onNodes) oneAtATime(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	o.requests.Lock()
	defer o.requests.Unlock()
	return handle(ctx, req)
}
