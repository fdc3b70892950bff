package driver

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

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
	can := []spec.NodeServiceCapability_RPC_Type{spec.NodeServiceCapability_RPC_GET_VOLUME_STATS, spec.NodeServiceCapability_RPC_EXPAND_VOLUME}
	if !n.cfg.NoStage {
		can = append([]spec.NodeServiceCapability_RPC_Type{spec.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME}, can...)
	}
	answer := &spec.NodeGetCapabilitiesResponse{}
	for _, t := range can {
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

// NodeStageVolume mounts the volume on the node, once for all pods. The caller has created the directory.
func (n *node) NodeStageVolume(_ context.Context, req *spec.NodeStageVolumeRequest) (*spec.NodeStageVolumeResponse, error) {
	if n.cfg.NoStage {
		return nil, status.Error(codes.Unimplemented, "the driver has no capability STAGE_UNSTAGE_VOLUME")
	}
	staging := req.GetStagingTargetPath()
	v, err := n.wanted(req.GetVolumeId(), "staging_target_path", staging, req.GetVolumeCapability())
	if err == nil {
		err = n.isAttached(v)
	}
	if err == nil && v.Block {
		err = n.connect(v.ID)
	} else if err == nil {
		err = n.format(v, req.GetVolumeCapability())
	}
	if err == nil && !v.Block {
		err = n.mountVolume(v, "staging_target_path", staging, nil)
	}
	if err == nil {
		err = n.noteStaging(v.ID, staging)
	}
	if err != nil {
		return nil, err
	}
	n.note(n.staged, csi.Place{Volume: v.ID, Node: n.name, Path: staging}, true)
	return &spec.NodeStageVolumeResponse{}, nil
}

// format makes what mkfs makes in a new file system of that type: an ext4 has a directory for what fsck finds.
func (n *node) format(v *volume, as *spec.VolumeCapability) error {
	if v.Block || !strings.HasPrefix(as.GetMount().GetFsType(), "ext") {
		return nil
	}
	data := path.Join(n.dir(v.ID), "data")
	entries, err := n.Backend.disk.ReadDir(data)
	if err == nil && len(entries) == 0 {
		err = n.Backend.disk.MakeDir(path.Join(data, "lost+found"), 0o700)
	}
	if err != nil {
		return status.Errorf(codes.Internal, "volume %s cannot be formatted as %s: %v", v.ID, as.GetMount().GetFsType(), err)
	}
	return nil
}

// isAttached refuses a volume that is not attached to the node.
func (n *node) isAttached(v *volume) error {
	if _, attached := v.Attached[n.name]; !attached && !n.cfg.NoAttach {
		return status.Errorf(codes.FailedPrecondition, "volume %s is not attached to node %s", v.ID, n.name)
	}
	return nil
}

// NodeUnstageVolume removes the mount of NodeStageVolume.
func (n *node) NodeUnstageVolume(_ context.Context, req *spec.NodeUnstageVolumeRequest) (*spec.NodeUnstageVolumeResponse, error) {
	if n.cfg.NoStage {
		return nil, status.Error(codes.Unimplemented, "the driver has no capability STAGE_UNSTAGE_VOLUME")
	}
	staging := req.GetStagingTargetPath()
	v, err := n.checked(req.GetVolumeId(), "staging_target_path", staging, anyCapability())
	if err != nil && status.Code(err) != codes.NotFound {
		return nil, err
	}
	if err := n.unmount(v, "staging_target_path", staging); err != nil {
		return nil, err
	}
	if err := n.disconnect(req.GetVolumeId()); err != nil {
		return nil, err
	}
	if err := n.disk.Remove(n.stagedAt(req.GetVolumeId())); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, status.Error(codes.Internal, err.Error())
	}
	n.note(n.staged, csi.Place{Volume: req.GetVolumeId(), Node: n.name, Path: staging}, false)
	return &spec.NodeUnstageVolumeResponse{}, nil
}

// NodePublishVolume bind mounts the staged directory or device for one pod. The caller has created the parent
// directory of the target.
func (n *node) NodePublishVolume(_ context.Context, req *spec.NodePublishVolumeRequest) (*spec.NodePublishVolumeResponse, error) {
	target := req.GetTargetPath()
	inline := n.cfg.AnyVolume && req.GetStagingTargetPath() == ""
	v, err := n.wanted(req.GetVolumeId(), "target_path", target, req.GetVolumeCapability())
	if err == nil && inline {
		v.Inline = true
		err = n.save(v)
	}
	if err != nil {
		return nil, err
	}
	var options []string
	if req.GetReadonly() || v.Attached[n.name].ReadOnly {
		options = []string{"ro"}
	}
	switch {
	case inline:
		err = n.makeAndMount(v, target, n.source(v), fsTypeOf(n.cfg.Name), options)
	case n.cfg.NoStage:
		if err = n.format(v, req.GetVolumeCapability()); err == nil {
			err = n.publishDirectly(v, target, options)
		}
	default:
		err = n.publishStaged(v, req.GetStagingTargetPath(), target, options)
	}
	if err != nil {
		return nil, err
	}
	n.note(n.published, csi.Place{Volume: v.ID, Node: n.name, Path: target}, true)
	return &spec.NodePublishVolumeResponse{}, nil
}

// publishStaged bind mounts the staging path, or the device that was connected.
func (n *node) publishStaged(v *volume, staging, target string, options []string) error {
	if staging == "" {
		return status.Error(codes.FailedPrecondition, "staging_target_path is missing")
	}
	if err := checkPath("staging_target_path", staging); err != nil {
		return err
	}
	staged, err := n.isStaged(v, staging)
	switch {
	case err != nil:
		return err
	case !staged:
		return status.Errorf(codes.FailedPrecondition, "volume %s is not staged at %s", v.ID, staging)
	case v.Block:
		return n.mountDevice(v, target, options)
	}
	return n.makeAndMount(v, target, staging, "", append([]string{"bind"}, options...))
}

// publishDirectly mounts the volume itself, or connects its device and mounts that.
func (n *node) publishDirectly(v *volume, target string, options []string) error {
	if err := n.isAttached(v); err != nil {
		return err
	}
	if !v.Block {
		return n.makeAndMount(v, target, n.source(v), fsTypeOf(n.cfg.Name), options)
	}
	if err := n.connect(v.ID); err != nil {
		return err
	}
	return n.mountDevice(v, target, options)
}

// NodeUnpublishVolume removes the mount of NodePublishVolume, and its mount point.
func (n *node) NodeUnpublishVolume(_ context.Context, req *spec.NodeUnpublishVolumeRequest) (*spec.NodeUnpublishVolumeResponse, error) {
	target := req.GetTargetPath()
	v, err := n.checked(req.GetVolumeId(), "target_path", target, anyCapability())
	if err != nil {
		if status.Code(err) != codes.NotFound {
			return nil, err
		}
		if _, there := n.disk.Lstat(target); there != nil {
			return nil, err
		}
	}
	if err := n.unmount(v, "target_path", target); err != nil {
		return nil, err
	}
	if err := n.removeTarget(target); err != nil {
		return nil, err
	}
	n.note(n.published, csi.Place{Volume: req.GetVolumeId(), Node: n.name, Path: target}, false)
	if err := n.disconnectUnused(req.GetVolumeId()); err != nil {
		return nil, err
	}
	if v != nil && v.Inline {
		if err := n.Backend.disk.RemoveAll(n.dir(v.ID)); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
	}
	return &spec.NodeUnpublishVolumeResponse{}, nil
}

// anyCapability returns a capability for requests without one.
func anyCapability() *spec.VolumeCapability {
	return &spec.VolumeCapability{
		AccessMode: &spec.VolumeCapability_AccessMode{Mode: spec.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
		AccessType: &spec.VolumeCapability_Mount{Mount: &spec.VolumeCapability_MountVolume{}},
	}
}

// checked returns the volume of a request whose fields are complete.
func (n *node) checked(id, field, at string, wanted *spec.VolumeCapability) (*volume, error) {
	if err := complete(id, field, at, wanted); err != nil {
		return nil, err
	}
	return n.find(id)
}

// wanted returns the volume of a request to stage or publish it, whose fields are complete.
func (n *node) wanted(id, field, at string, wanted *spec.VolumeCapability) (*volume, error) {
	if err := complete(id, field, at, wanted); err != nil {
		return nil, err
	}
	return n.findOrMake(id, wanted.GetBlock() != nil)
}

// complete returns an error that names the first field of a request that is missing or cannot be.
func complete(id, field, at string, wanted *spec.VolumeCapability) error {
	switch {
	case id == "":
		return status.Error(codes.InvalidArgument, "volume_id is missing")
	case at == "":
		return status.Errorf(codes.InvalidArgument, "%s is missing", field)
	case wanted == nil:
		return status.Error(codes.InvalidArgument, "volume_capability is missing")
	}
	if err := checkCapabilities([]*spec.VolumeCapability{wanted}); err != nil {
		return err
	}
	return checkPath(field, at)
}
