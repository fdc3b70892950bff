package driver

import (
	"context"
	"errors"
	"maps"
	"slices"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// nodes returns the nodes that the volume is attached to, sorted.
func (v *volume) nodes() []string { return slices.Sorted(maps.Keys(v.Attached)) }

// ControllerPublishVolume attaches a volume to a node. The node's server checks that before it stages the volume.
func (c *controller) ControllerPublishVolume(_ context.Context, req *spec.ControllerPublishVolumeRequest) (*spec.ControllerPublishVolumeResponse, error) {
	switch {
	case req.GetVolumeId() == "":
		return nil, status.Error(codes.InvalidArgument, "volume_id is missing")
	case req.GetNodeId() == "":
		return nil, status.Error(codes.InvalidArgument, "node_id is missing")
	case req.GetVolumeCapability() == nil:
		return nil, status.Error(codes.InvalidArgument, "volume_capability is missing")
	}
	v, err := c.findOrMake(req.GetVolumeId(), req.GetVolumeCapability().GetBlock() != nil)
	if err == nil {
		err = checkCapabilities([]*spec.VolumeCapability{req.GetVolumeCapability()})
	}
	if err == nil {
		err = c.mayAttach(v, req)
	}
	if err != nil {
		return nil, err
	}
	v.Attached[req.GetNodeId()] = attachment{ReadOnly: req.GetReadonly(), Alone: alone(req.GetVolumeCapability())}
	if err := c.save(v); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &spec.ControllerPublishVolumeResponse{PublishContext: map[string]string{"source": c.cfg.Name + ":" + v.ID}}, nil
}

// mayAttach returns an error if a volume cannot be attached to a node.
func (c *controller) mayAttach(v *volume, req *spec.ControllerPublishVolumeRequest) error {
	node := req.GetNodeId()
	if !c.nodes[node] {
		return status.Errorf(codes.NotFound, "there is no node %s", node)
	}
	if v.Node != "" && v.Node != node {
		return status.Errorf(codes.FailedPrecondition, "volume %s is on node %s", v.ID, v.Node)
	}
	if was, attached := v.Attached[node]; attached {
		if was.ReadOnly != req.GetReadonly() {
			return status.Errorf(codes.AlreadyExists, "volume %s is attached to node %s with another readonly", v.ID, node)
		}
		return nil
	}
	for _, other := range v.nodes() {
		if alone(req.GetVolumeCapability()) || v.Attached[other].Alone {
			return status.Errorf(codes.FailedPrecondition, "volume %s is attached to node %s", v.ID, other)
		}
	}
	if c.cfg.MaxVolumes == 0 {
		return nil
	}
	all, err := c.volumes()
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	var has int64
	for _, other := range all {
		if _, attached := other.Attached[node]; attached {
			has++
		}
	}
	if has >= c.cfg.MaxVolumes {
		return status.Errorf(codes.ResourceExhausted, "node %s has %d volumes, and can have no more", node, has)
	}
	return nil
}

// alone reports whether an access mode allows one node only.
func alone(wanted *spec.VolumeCapability) bool {
	switch wanted.GetAccessMode().GetMode() {
	case spec.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY, spec.VolumeCapability_AccessMode_MULTI_NODE_SINGLE_WRITER,
		spec.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER:
		return false
	}
	return true
}

// ControllerUnpublishVolume detaches a volume from a node, or from all. A volume that is not attached is no error.
func (c *controller) ControllerUnpublishVolume(_ context.Context, req *spec.ControllerUnpublishVolumeRequest) (*spec.ControllerUnpublishVolumeResponse, error) {
	if req.GetVolumeId() == "" {
		return nil, status.Error(codes.InvalidArgument, "volume_id is missing")
	}
	v, err := c.load(req.GetVolumeId())
	if errors.Is(err, errNoVolume) {
		return &spec.ControllerUnpublishVolumeResponse{}, nil
	}
	if err == nil {
		if req.GetNodeId() == "" {
			clear(v.Attached)
		}
		delete(v.Attached, req.GetNodeId())
		err = c.save(v)
	}
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &spec.ControllerUnpublishVolumeResponse{}, nil
}
