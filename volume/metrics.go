package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagesim/storagesim/machine/disk"
)

// MetricsProvider is a volume of a pod, mounted or a raw device, that says how full it is. Volumes that do not implement it have no metrics: those of
// hostPath and image.
//
// Upstream: pkg/volume/volume.go MetricsProvider, v1.37.2; hostPath and image have MetricsNil.
type MetricsProvider interface {
	// GetMetrics returns how full the volume is.
	GetMetrics(ctx context.Context) (*Metrics, error)
}

// Metrics holds the capacity and use of a volume in bytes and inodes; unknown values are nil.
//
// Upstream: pkg/volume/volume.go Metrics, v1.37.
type Metrics struct {
	Used, Capacity, Available      *resource.Quantity
	InodesUsed, Inodes, InodesFree *resource.Quantity
}

// MetricsDu counts what is in a directory, and says what is left on the disk that it shares with others.
//
// Upstream: pkg/volume/metrics_du.go GetMetrics, v1.37.2. It counts a file of several links once.
func MetricsDu(node *disk.Disk, dir string) (*Metrics, error) {
	used, inodes, err := diskUsage(node, dir)
	if err != nil {
		return nil, err
	}
	metrics, err := MetricsStatFS(node, dir)
	if err != nil {
		return nil, err
	}
	metrics.Used, metrics.InodesUsed = used, inodes
	return metrics, nil
}

// MetricsStatFS says how full the file system is that a directory is on. If it has no size, it counts what is below the directory and takes
// disk.DefaultSize for its size, as df in a container does. If it has no limit of inodes, their numbers are 0, as of a file system that makes
// inodes when it needs them.
//
// Upstream: pkg/volume/metrics_statfs.go GetMetrics and pkg/volume/util/fs/fs.go Info, v1.37.2.
func MetricsStatFS(node *disk.Disk, dir string) (*Metrics, error) {
	space, err := node.Space(dir)
	if err != nil && !errors.Is(err, disk.ErrNoLimits) {
		return nil, fmt.Errorf("failed to get FsInfo due to error %w", err)
	}
	if space.Inodes == 0 {
		space.UsedInodes = 0
	}
	metrics := &Metrics{
		Capacity: bytes(space.Bytes), Used: bytes(space.UsedBytes),
		Inodes: bytes(space.Inodes), InodesUsed: bytes(space.UsedInodes), InodesFree: bytes(max(0, space.Inodes-space.UsedInodes)),
	}
	if space.Bytes == 0 {
		if metrics.Used, _, err = diskUsage(node, dir); err != nil {
			return nil, err
		}
		metrics.Capacity = bytes(disk.DefaultSize)
	}
	metrics.Available = bytes(max(0, metrics.Capacity.Value()-metrics.Used.Value()))
	return metrics, nil
}

// MetricsBlock says how large a device is. More cannot be seen of it.
//
// Upstream: pkg/volume/metrics_block.go GetMetrics, v1.37.2.
func MetricsBlock(node *disk.Disk, device string) (*Metrics, error) {
	info, err := node.Stat(device)
	if err != nil {
		return nil, fmt.Errorf("unable to open device %q: %w", device, err)
	}
	return &Metrics{Capacity: bytes(info.Size())}, nil
}

// diskUsage returns what the files and directories below a directory take, itself included, in whole blocks, and their number.
//
// Upstream: pkg/volume/util/fs/fs.go DiskUsage, v1.37.2.
func diskUsage(node *disk.Disk, dir string) (used, inodes *resource.Quantity, err error) {
	var size, files int64
	err = node.WalkUp(dir, func(_ string, info fs.FileInfo) error {
		files++
		if info.IsDir() {
			size += disk.BlockSize
		} else {
			size += (info.Size() + disk.BlockSize - 1) / disk.BlockSize * disk.BlockSize
		}
		return nil
	})
	return bytes(size), bytes(files), err
}

func bytes(n int64) *resource.Quantity { return resource.NewQuantity(n, resource.BinarySI) }
