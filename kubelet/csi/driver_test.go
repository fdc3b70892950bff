package csi_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
	"github.com/storagesim/storagesim/volume"
)

const driverName = "disk.example.com"

// nodeDriver is a driver's node server. It reports what it holds, and fails for wrong calls:
// a publish of a volume that is not staged, and an unstage of one that is published.
type nodeDriver struct {
	csipb.UnimplementedNodeServer

	disk    *disk.Disk
	mounter mount.Interface

	capabilities []csipb.NodeServiceCapability_RPC_Type
	info         *csipb.NodeGetInfoResponse
	// before, if set, is called before each call; its error is the answer.
	before func(method string, req any) error
	// after is the same once the work is done.
	after func(method string, req any) error

	staged, published map[string]string // where -> volume
	requests          []any
	calls             []string
	broken            []string
}

func newNodeDriver(node *disk.Disk, mounter mount.Interface) *nodeDriver {
	return &nodeDriver{
		disk: node, mounter: mounter, staged: map[string]string{}, published: map[string]string{},
		capabilities: []csipb.NodeServiceCapability_RPC_Type{csipb.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME},
		info:         &csipb.NodeGetInfoResponse{NodeId: "id-1"},
	}
}

func (d *nodeDriver) has(c csipb.NodeServiceCapability_RPC_Type) bool {
	return slices.Contains(d.capabilities, c)
}

func (d *nodeDriver) call(method string, req any, do func() error) error {
	d.calls, d.requests = append(d.calls, method), append(d.requests, req)
	if d.before != nil {
		if err := d.before(method, req); err != nil {
			return err
		}
	}
	if err := do(); err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	if d.after != nil {
		return d.after(method, req)
	}
	return nil
}

func (d *nodeDriver) NodeGetInfo(_ context.Context, req *csipb.NodeGetInfoRequest) (*csipb.NodeGetInfoResponse, error) {
	return d.info, d.call("NodeGetInfo", req, func() error { return nil })
}

func (d *nodeDriver) NodeGetCapabilities(context.Context, *csipb.NodeGetCapabilitiesRequest) (*csipb.NodeGetCapabilitiesResponse, error) {
	answer := &csipb.NodeGetCapabilitiesResponse{}
	for _, c := range d.capabilities {
		answer.Capabilities = append(answer.Capabilities, &csipb.NodeServiceCapability{
			Type: &csipb.NodeServiceCapability_Rpc{Rpc: &csipb.NodeServiceCapability_RPC{Type: c}},
		})
	}
	if d.before != nil {
		return answer, d.before("NodeGetCapabilities", nil)
	}
	return answer, nil
}

func (d *nodeDriver) NodeStageVolume(_ context.Context, req *csipb.NodeStageVolumeRequest) (*csipb.NodeStageVolumeResponse, error) {
	return &csipb.NodeStageVolumeResponse{}, d.call("NodeStageVolume", req, func() error {
		d.staged[req.StagingTargetPath] = req.VolumeId
		if req.VolumeCapability.GetBlock() != nil {
			return nil
		}
		source := path.Join("/srv/volumes", req.VolumeId)
		return errors.Join(d.disk.MkdirAll(source, 0o755), d.bind(source, req.StagingTargetPath))
	})
}

func (d *nodeDriver) NodePublishVolume(_ context.Context, req *csipb.NodePublishVolumeRequest) (*csipb.NodePublishVolumeResponse, error) {
	return &csipb.NodePublishVolumeResponse{}, d.call("NodePublishVolume", req, func() error {
		if d.has(csipb.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME) && req.StagingTargetPath != "" && d.staged[req.StagingTargetPath] != req.VolumeId {
			d.broken = append(d.broken, "published before it was staged: "+req.TargetPath)
		}
		d.published[req.TargetPath] = req.VolumeId
		if req.VolumeCapability.GetBlock() != nil {
			return d.disk.WriteFile(req.TargetPath, []byte("raw"), 0o600)
		}
		source := req.StagingTargetPath
		if source == "" {
			source = path.Join("/srv/volumes", req.VolumeId)
			if err := d.disk.MkdirAll(source, 0o755); err != nil {
				return err
			}
		}
		if err := d.disk.MkdirAll(req.TargetPath, 0o755); err != nil {
			return err
		}
		return d.bind(source, req.TargetPath)
	})
}

func (d *nodeDriver) bind(source, target string) error {
	if mounted, err := d.mounter.IsMountPoint(target); err != nil || mounted {
		return err
	}
	return d.mounter.Mount(source, target, "", []string{"bind"})
}

func (d *nodeDriver) NodeUnpublishVolume(_ context.Context, req *csipb.NodeUnpublishVolumeRequest) (*csipb.NodeUnpublishVolumeResponse, error) {
	return &csipb.NodeUnpublishVolumeResponse{}, d.call("NodeUnpublishVolume", req, func() error {
		delete(d.published, req.TargetPath)
		if info, err := d.disk.Lstat(req.TargetPath); err == nil && info.Mode().IsRegular() {
			return d.disk.Remove(req.TargetPath)
		}
		return volume.CleanupMountPoint(req.TargetPath, d.mounter, d.disk)
	})
}

func (d *nodeDriver) NodeUnstageVolume(_ context.Context, req *csipb.NodeUnstageVolumeRequest) (*csipb.NodeUnstageVolumeResponse, error) {
	return &csipb.NodeUnstageVolumeResponse{}, d.call("NodeUnstageVolume", req, func() error {
		for where, id := range d.published {
			if id == req.VolumeId {
				d.broken = append(d.broken, "unstaged while published: "+where)
			}
		}
		delete(d.staged, req.StagingTargetPath)
		if mounted, _ := d.mounter.IsMountPoint(req.StagingTargetPath); !mounted {
			return nil // also if there is no such directory
		}
		return d.mounter.Unmount(req.StagingTargetPath)
	})
}

func (d *nodeDriver) NodeGetVolumeStats(_ context.Context, req *csipb.NodeGetVolumeStatsRequest) (*csipb.NodeGetVolumeStatsResponse, error) {
	return &csipb.NodeGetVolumeStatsResponse{Usage: []*csipb.VolumeUsage{
		{Unit: csipb.VolumeUsage_BYTES, Available: 60, Total: 100, Used: 40}, {Unit: csipb.VolumeUsage_INODES, Available: 7, Total: 9, Used: 2},
	}}, d.call("NodeGetVolumeStats", req, func() error { return nil })
}

// registrar registers the driver.
type registrar struct {
	registerapi.UnimplementedRegistrationServer

	info   *registerapi.PluginInfo
	before func(method string) error
	told   []string
}

func (r *registrar) GetInfo(context.Context, *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	if r.before != nil {
		if err := r.before("GetInfo"); err != nil {
			return nil, err
		}
	}
	return r.info, nil
}

func (r *registrar) NotifyRegistrationStatus(_ context.Context, status *registerapi.RegistrationStatus) (*registerapi.RegistrationStatusResponse, error) {
	if r.before != nil {
		if err := r.before("NotifyRegistrationStatus"); err != nil {
			return nil, err
		}
	}
	r.told = append(r.told, fmt.Sprintf("%t %s", status.PluginRegistered, status.Error))
	return &registerapi.RegistrationStatusResponse{}, nil
}
