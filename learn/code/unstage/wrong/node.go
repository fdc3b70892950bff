// Package tape is the node's half of a CSI driver: a volume is staged once for a node, and then published for each pod.
package tape

import (
	"context"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"example.com/storagesim-learn/backend"

	"github.com/storagesim/storagesim/machine/disk"
)

// Node is the server of one node.
type Node struct {
	spec.UnimplementedNodeServer
	tapes *backend.Tapes
	name  string
	disk  *disk.Disk
}

// New makes the server of a node. It is called when the driver's process starts: after a crash it is called again, and what was in memory is gone.
func New(tapes *backend.Tapes, name string, d *disk.Disk) *Node {
	return &Node{tapes: tapes, name: name, disk: d}
}

// NodeStageVolume loads the tape and makes the directory in which it is seen.
func (n *Node) NodeStageVolume(_ context.Context, req *spec.NodeStageVolumeRequest) (*spec.NodeStageVolumeResponse, error) {
	if err := n.tapes.Load(req.GetVolumeId(), n.name, req.GetStagingTargetPath()); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	if err := n.disk.MkdirAll(req.GetStagingTargetPath()+"/tape", 0o755); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &spec.NodeStageVolumeResponse{}, nil
}

// NodeUnstageVolume takes away what NodeStageVolume has made.
func (n *Node) NodeUnstageVolume(_ context.Context, req *spec.NodeUnstageVolumeRequest) (*spec.NodeUnstageVolumeResponse, error) {
	if err := n.disk.RemoveAll(req.GetStagingTargetPath() + "/tape"); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &spec.NodeUnstageVolumeResponse{}, nil
}

// NodePublishVolume shows the tape to a pod.
func (n *Node) NodePublishVolume(_ context.Context, req *spec.NodePublishVolumeRequest) (*spec.NodePublishVolumeResponse, error) {
	if err := n.disk.MkdirAll(req.GetTargetPath(), 0o755); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &spec.NodePublishVolumeResponse{}, nil
}

// NodeUnpublishVolume takes away what NodePublishVolume has made. That it is not there is no error.
func (n *Node) NodeUnpublishVolume(_ context.Context, req *spec.NodeUnpublishVolumeRequest) (*spec.NodeUnpublishVolumeResponse, error) {
	if err := n.disk.RemoveAll(req.GetTargetPath()); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	if n.tapes.Loaded(req.GetVolumeId(), n.name) {
		if err := n.tapes.Unload(req.GetVolumeId(), n.name); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
	}
	return &spec.NodeUnpublishVolumeResponse{}, nil
}

// NodeGetInfo tells the node's name.
func (n *Node) NodeGetInfo(context.Context, *spec.NodeGetInfoRequest) (*spec.NodeGetInfoResponse, error) {
	return &spec.NodeGetInfoResponse{NodeId: n.name}, nil
}

// NodeGetCapabilities tells that volumes must be staged.
func (n *Node) NodeGetCapabilities(context.Context, *spec.NodeGetCapabilitiesRequest) (*spec.NodeGetCapabilitiesResponse, error) {
	return &spec.NodeGetCapabilitiesResponse{Capabilities: []*spec.NodeServiceCapability{{
		Type: &spec.NodeServiceCapability_Rpc{Rpc: &spec.NodeServiceCapability_RPC{Type: spec.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME}},
	}}}, nil
}
