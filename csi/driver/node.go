package driver

import (
	"context"
	"errors"
	"io/fs"
	"path"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
)

// node is the server of one node.
type node struct {
	spec.UnimplementedNodeServer
	*Backend
	name    string
	disk    *disk.Disk // the node's, not the backend's
	mounter mount.Interface
}

func (n *node) NodeGetCapabilities(context.Context, *spec.NodeGetCapabilitiesRequest) (*spec.NodeGetCapabilitiesResponse, error) {
	answer := &spec.NodeGetCapabilitiesResponse{}
	for _, t := range []spec.NodeServiceCapability_RPC_Type{
		spec.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME, spec.NodeServiceCapability_RPC_GET_VOLUME_STATS,
	} {
		answer.Capabilities = append(answer.Capabilities, &spec.NodeServiceCapability{
			Type: &spec.NodeServiceCapability_Rpc{Rpc: &spec.NodeServiceCapability_RPC{Type: t}},
		})
	}
	return answer, nil
}

func (n *node) NodeGetInfo(context.Context, *spec.NodeGetInfoRequest) (*spec.NodeGetInfoResponse, error) {
	answer := &spec.NodeGetInfoResponse{NodeId: n.name, MaxVolumesPerNode: n.cfg.MaxVolumes}
	if n.cfg.Topology {
		answer.AccessibleTopology = &spec.Topology{Segments: map[string]string{n.topologyKey(): n.name}}
	}
	return answer, nil
}

// NodeStageVolume mounts the volume on the node, once for all pods.
func (n *node) NodeStageVolume(_ context.Context, req *spec.NodeStageVolumeRequest) (*spec.NodeStageVolumeResponse, error) {
	v, err := n.checked(req.GetVolumeId(), "staging_target_path", req.GetStagingTargetPath(), req.GetVolumeCapability())
	if err != nil {
		return nil, err
	}
	if _, attached := v.Attached[n.name]; !attached && !n.cfg.NoAttach {
		return nil, status.Errorf(codes.FailedPrecondition, "volume %s is not attached to node %s", v.ID, n.name)
	}
	if v.Block {
		err = n.connect(v.ID)
	} else {
		err = n.mount(v.ID, req.GetStagingTargetPath(), nil)
	}
	if err != nil {
		return nil, err
	}
	n.note(n.staged, csi.Place{Volume: v.ID, Node: n.name, Path: req.GetStagingTargetPath()}, true)
	return &spec.NodeStageVolumeResponse{}, nil
}

// NodeUnstageVolume takes the mount of NodeStageVolume away.
func (n *node) NodeUnstageVolume(_ context.Context, req *spec.NodeUnstageVolumeRequest) (*spec.NodeUnstageVolumeResponse, error) {
	_, err := n.checked(req.GetVolumeId(), "staging_target_path", req.GetStagingTargetPath(), anyCapability())
	if err != nil && status.Code(err) != codes.NotFound {
		return nil, err
	}
	if err := n.unmount(req.GetStagingTargetPath()); err != nil {
		return nil, err
	}
	if err := n.disconnect(req.GetVolumeId()); err != nil {
		return nil, err
	}
	n.note(n.staged, csi.Place{Volume: req.GetVolumeId(), Node: n.name, Path: req.GetStagingTargetPath()}, false)
	return &spec.NodeUnstageVolumeResponse{}, nil
}

// NodePublishVolume mounts what is staged for one pod: its directory, or its device.
func (n *node) NodePublishVolume(_ context.Context, req *spec.NodePublishVolumeRequest) (*spec.NodePublishVolumeResponse, error) {
	v, err := n.checked(req.GetVolumeId(), "target_path", req.GetTargetPath(), req.GetVolumeCapability())
	if err != nil {
		return nil, err
	}
	staging, target := req.GetStagingTargetPath(), req.GetTargetPath()
	if staging == "" {
		return nil, status.Error(codes.FailedPrecondition, "staging_target_path is missing")
	}
	if !n.isStaged(v, staging) {
		return nil, status.Errorf(codes.FailedPrecondition, "volume %s is not staged at %s", v.ID, staging)
	}
	var options []string
	if req.GetReadonly() || v.Attached[n.name].ReadOnly {
		options = []string{"ro"}
	}
	if v.Block {
		err = n.mountDevice(v.ID, target, options)
	} else {
		err = n.mount(v.ID, target, options)
	}
	if err != nil {
		return nil, err
	}
	n.note(n.published, csi.Place{Volume: v.ID, Node: n.name, Path: target}, true)
	return &spec.NodePublishVolumeResponse{}, nil
}

// NodeUnpublishVolume takes the mount of NodePublishVolume away, and what was made for it.
func (n *node) NodeUnpublishVolume(_ context.Context, req *spec.NodeUnpublishVolumeRequest) (*spec.NodeUnpublishVolumeResponse, error) {
	target := req.GetTargetPath()
	if _, err := n.checked(req.GetVolumeId(), "target_path", target, anyCapability()); err != nil {
		if status.Code(err) != codes.NotFound {
			return nil, err
		}
		if _, there := n.disk.Lstat(target); there != nil {
			return nil, err
		}
	}
	if err := n.unmount(target); err != nil {
		return nil, err
	}
	if err := n.disk.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, status.Error(codes.Internal, err.Error())
	}
	n.note(n.published, csi.Place{Volume: req.GetVolumeId(), Node: n.name, Path: target}, false)
	return &spec.NodeUnpublishVolumeResponse{}, nil
}

// NodeGetVolumeStats says how full a volume is.
func (n *node) NodeGetVolumeStats(_ context.Context, req *spec.NodeGetVolumeStatsRequest) (*spec.NodeGetVolumeStatsResponse, error) {
	v, err := n.checked(req.GetVolumeId(), "volume_path", req.GetVolumePath(), anyCapability())
	if err != nil {
		return nil, err
	}
	if mounted, err := n.mounter.IsMountPoint(req.GetVolumePath()); err != nil || !mounted {
		return nil, status.Errorf(codes.NotFound, "volume %s is not at %s", v.ID, req.GetVolumePath())
	}
	var used, files int64
	err = n.Backend.disk.WalkUp(path.Join(n.dir(v.ID), "data"), func(_ string, info fs.FileInfo) error {
		files++
		if info.Mode().IsRegular() {
			used += info.Size()
		}
		return nil
	})
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	usage := []*spec.VolumeUsage{{Unit: spec.VolumeUsage_BYTES, Total: v.Size, Used: used, Available: max(v.Size-used, 0)}}
	if !v.Block {
		usage = append(usage, &spec.VolumeUsage{Unit: spec.VolumeUsage_INODES, Used: files})
	}
	return &spec.NodeGetVolumeStatsResponse{Usage: usage}, nil
}

// anyCapability is for requests without one.
func anyCapability() *spec.VolumeCapability {
	return &spec.VolumeCapability{
		AccessMode: &spec.VolumeCapability_AccessMode{Mode: spec.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
		AccessType: &spec.VolumeCapability_Mount{Mount: &spec.VolumeCapability_MountVolume{}},
	}
}

// checked is the volume of a request whose fields are complete.
func (n *node) checked(id, field, at string, wanted *spec.VolumeCapability) (*volume, error) {
	switch {
	case id == "":
		return nil, status.Error(codes.InvalidArgument, "volume_id is missing")
	case at == "":
		return nil, status.Errorf(codes.InvalidArgument, "%s is missing", field)
	case wanted == nil:
		return nil, status.Error(codes.InvalidArgument, "volume_capability is missing")
	}
	if err := checkCapabilities([]*spec.VolumeCapability{wanted}); err != nil {
		return nil, err
	}
	return n.find(id)
}
