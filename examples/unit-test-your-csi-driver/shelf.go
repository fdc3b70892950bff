// Package shelf is a CSI driver that could be yours. A volume is a name on a shelf; to publish
// it is to put a file with its name at the target path.
package shelf

import (
	"context"
	"maps"
	"slices"
	"sync"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/machine/disk"
)

// Name is the driver's name.
const Name = "csi.shelf.example.com"

// Shelf is the storage. It is on no node, and outlives the driver's processes.
type Shelf struct {
	mu        sync.Mutex
	volumes   map[string]bool
	published map[csi.Place]bool
}

// New returns an empty shelf.
func New() *Shelf {
	return &Shelf{volumes: map[string]bool{}, published: map[csi.Place]bool{}}
}

// Holdings says what the shelf holds, for RequireNoLeaks.
func (s *Shelf) Holdings() csi.Holdings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return csi.Holdings{
		Volumes:   slices.Sorted(maps.Keys(s.volumes)),
		Published: slices.SortedFunc(maps.Keys(s.published), csi.Place.Compare),
	}
}

// Driver returns the driver of the shelf, as it is deployed: it attaches nothing.
func (s *Shelf) Driver() csi.Driver {
	d := csi.Driver{
		Name: Name, Inventory: s,
		NewController: func(csi.Host) (spec.ControllerServer, error) { return &controller{shelf: s}, nil },
		Node: func(h csi.Host) (spec.NodeServer, error) {
			return &node{shelf: s, name: h.Node, disk: h.Machine.Disk()}, nil
		},
	}
	d.Spec.AttachRequired = new(bool)
	return d
}

// controller is the controller server.
type controller struct {
	spec.UnimplementedControllerServer
	shelf *Shelf
}

func (c *controller) ControllerGetCapabilities(context.Context, *spec.ControllerGetCapabilitiesRequest) (*spec.ControllerGetCapabilitiesResponse, error) {
	return &spec.ControllerGetCapabilitiesResponse{Capabilities: []*spec.ControllerServiceCapability{{
		Type: &spec.ControllerServiceCapability_Rpc{Rpc: &spec.ControllerServiceCapability_RPC{Type: spec.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME}},
	}}}, nil
}

// CreateVolume uses the name that it is given as the ID, so a repeated call makes one volume.
func (c *controller) CreateVolume(_ context.Context, req *spec.CreateVolumeRequest) (*spec.CreateVolumeResponse, error) {
	c.shelf.mu.Lock()
	defer c.shelf.mu.Unlock()
	c.shelf.volumes[req.GetName()] = true
	return &spec.CreateVolumeResponse{Volume: &spec.Volume{VolumeId: req.GetName(), CapacityBytes: req.GetCapacityRange().GetRequiredBytes()}}, nil
}

// DeleteVolume succeeds also if the volume is gone.
func (c *controller) DeleteVolume(_ context.Context, req *spec.DeleteVolumeRequest) (*spec.DeleteVolumeResponse, error) {
	c.shelf.mu.Lock()
	defer c.shelf.mu.Unlock()
	delete(c.shelf.volumes, req.GetVolumeId())
	return &spec.DeleteVolumeResponse{}, nil
}

// node is the server of one node.
type node struct {
	spec.UnimplementedNodeServer
	shelf *Shelf
	name  string
	disk  *disk.Disk
}

func (n *node) NodeGetInfo(context.Context, *spec.NodeGetInfoRequest) (*spec.NodeGetInfoResponse, error) {
	return &spec.NodeGetInfoResponse{NodeId: n.name}, nil
}

func (n *node) NodeGetCapabilities(context.Context, *spec.NodeGetCapabilitiesRequest) (*spec.NodeGetCapabilitiesResponse, error) {
	return &spec.NodeGetCapabilitiesResponse{}, nil
}

// NodePublishVolume puts a file with the volume's name at the target path.
func (n *node) NodePublishVolume(_ context.Context, req *spec.NodePublishVolumeRequest) (*spec.NodePublishVolumeResponse, error) {
	n.shelf.mu.Lock()
	defer n.shelf.mu.Unlock()
	if !n.shelf.volumes[req.GetVolumeId()] {
		return nil, status.Errorf(codes.NotFound, "there is no volume %s", req.GetVolumeId())
	}
	err := n.disk.MkdirAll(req.GetTargetPath(), 0o755)
	if err == nil {
		err = n.disk.WriteFile(req.GetTargetPath()+"/name", []byte(req.GetVolumeId()), 0o644)
	}
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	n.shelf.published[csi.Place{Volume: req.GetVolumeId(), Node: n.name, Path: req.GetTargetPath()}] = true
	return &spec.NodePublishVolumeResponse{}, nil
}

// NodeUnpublishVolume takes away what NodePublishVolume made, if it is there.
func (n *node) NodeUnpublishVolume(_ context.Context, req *spec.NodeUnpublishVolumeRequest) (*spec.NodeUnpublishVolumeResponse, error) {
	n.shelf.mu.Lock()
	defer n.shelf.mu.Unlock()
	if err := n.disk.RemoveAll(req.GetTargetPath()); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	delete(n.shelf.published, csi.Place{Volume: req.GetVolumeId(), Node: n.name, Path: req.GetTargetPath()})
	return &spec.NodeUnpublishVolumeResponse{}, nil
}
