package csi

import (
	"context"
	"errors"
	"fmt"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagesim/storagesim/volume"
)

// GetMetrics asks the driver how full the pod's volume is, if it can tell.
//
// Upstream: csi_metrics.go GetMetrics and csi_client.go NodeGetVolumeStats, v1.36.
func (v *podVolume) GetMetrics(ctx context.Context) (*volume.Metrics, error) {
	c, err := v.plugin.client(v.driver)
	if err != nil {
		return nil, err
	}
	ctx = v.plugin.operation(ctx)
	can, err := c.supports(ctx, csipb.NodeServiceCapability_RPC_GET_VOLUME_STATS)
	switch {
	case err != nil:
		return nil, err
	case !can:
		return nil, fmt.Errorf("metrics are not supported for %s", v.driver)
	case v.handle == "":
		return nil, errors.New("missing volume id")
	}
	answer, err := c.NodeGetVolumeStats(ctx, &csipb.NodeGetVolumeStatsRequest{VolumeId: v.handle, VolumePath: v.GetPath()})
	if err != nil {
		return nil, err
	}
	if answer.GetUsage() == nil {
		return nil, errors.New("failed to get usage from response. usage is nil")
	}
	metrics := &volume.Metrics{}
	for _, usage := range answer.GetUsage() {
		switch usage.GetUnit() {
		case csipb.VolumeUsage_BYTES:
			metrics.Available, metrics.Capacity, metrics.Used = quantity(usage.GetAvailable()), quantity(usage.GetTotal()), quantity(usage.GetUsed())
		case csipb.VolumeUsage_INODES:
			metrics.InodesFree, metrics.Inodes, metrics.InodesUsed = quantity(usage.GetAvailable()), quantity(usage.GetTotal()), quantity(usage.GetUsed())
		default:
			v.plugin.note("unknown unit in VolumeUsage: " + usage.GetUnit().String())
		}
	}
	return metrics, nil
}

func quantity(n int64) *resource.Quantity { return resource.NewQuantity(n, resource.BinarySI) }
