package driver

import (
	"cmp"
	"context"
	"io/fs"
	"path"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// volumeAt returns the volume of a request. It must be at the path of the request.
func (n *node) volumeAt(id, at string) (*volume, error) {
	if at == "" {
		return nil, status.Error(codes.InvalidArgument, "volume_path is missing")
	}
	v, err := n.find(id)
	if err != nil {
		return nil, err
	}
	if there, err := n.isVolume(v, at); err != nil || !there {
		return nil, status.Errorf(codes.NotFound, "volume %s is not at %s", v.ID, at)
	}
	return v, nil
}

// NodeGetVolumeStats returns the usage of a volume.
func (n *node) NodeGetVolumeStats(_ context.Context, req *spec.NodeGetVolumeStatsRequest) (*spec.NodeGetVolumeStatsResponse, error) {
	v, err := n.volumeAt(req.GetVolumeId(), req.GetVolumePath())
	if err != nil {
		return nil, err
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
	total := v.Size
	if v.Foreign {
		total = cmp.Or(total, n.cfg.Capacity)
	}
	usage := []*spec.VolumeUsage{{Unit: spec.VolumeUsage_BYTES, Total: total, Used: used, Available: max(total-used, 0)}}
	if !v.Block {
		usage = append(usage, &spec.VolumeUsage{Unit: spec.VolumeUsage_INODES, Used: files})
	}
	return &spec.NodeGetVolumeStatsResponse{Usage: usage}, nil
}
