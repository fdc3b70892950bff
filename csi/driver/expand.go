package driver

import (
	"context"
	"errors"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ControllerExpandVolume makes a volume larger, in use or not. A volume that is large enough stays as it is. The
// answer says that nodes have to expand a volume with files.
func (c *controller) ControllerExpandVolume(_ context.Context, req *spec.ControllerExpandVolumeRequest) (*spec.ControllerExpandVolumeResponse, error) {
	v, err := c.findOrMake(req.GetVolumeId(), req.GetVolumeCapability().GetBlock() != nil)
	if err != nil {
		return nil, err
	}
	if req.GetCapacityRange() == nil {
		return nil, status.Error(codes.InvalidArgument, "capacity_range is missing")
	}
	size, err := sizeOf(req.GetCapacityRange())
	if err != nil {
		return nil, err
	}
	if size > v.Size {
		more := size - v.Size
		if free := c.free(v.Node); free < more {
			return nil, status.Errorf(codes.OutOfRange, "volume %s is to grow by %d bytes, and %d are free", v.ID, more, free)
		}
		v.Size = size
		if err := errors.Join(c.save(v), c.bound(v)); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
		c.used[v.Node] += more
	}
	return &spec.ControllerExpandVolumeResponse{CapacityBytes: v.Size, NodeExpansionRequired: !v.Block}, nil
}

// NodeExpandVolume would resize the node's file system. Here it only checks that the volume is at the kubelet's
// path.
func (n *node) NodeExpandVolume(_ context.Context, req *spec.NodeExpandVolumeRequest) (*spec.NodeExpandVolumeResponse, error) {
	v, err := n.volumeAt(req.GetVolumeId(), req.GetVolumePath())
	if err != nil {
		return nil, err
	}
	if v.Size < req.GetCapacityRange().GetRequiredBytes() {
		return nil, status.Errorf(codes.OutOfRange, "volume %s has %d bytes; the controller must make it larger first", v.ID, v.Size)
	}
	return &spec.NodeExpandVolumeResponse{CapacityBytes: v.Size}, nil
}
