package csi

import (
	"context"
	"errors"
	"fmt"
	"path"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagesim/storagesim/csi/socket"
	"github.com/storagesim/storagesim/volume"
)

// GetMetrics asks the driver how full the pod's volume is, if it can tell.
func (v *podVolume) GetMetrics(ctx context.Context) (*volume.Metrics, error) {
	return v.metrics(ctx, v.GetPath())
}

// GetMetrics asks the driver about the device, of which the node has a link for each pod.
//
// Upstream: csi_plugin.go NewBlockVolumeMapper, v1.37.2.
func (d *device) GetMetrics(ctx context.Context) (*volume.Metrics, error) {
	global, err := d.GetGlobalMapPath(d.spec)
	if err != nil {
		return nil, err
	}
	return d.metrics(ctx, path.Join(global, string(d.podUID)))
}

// metrics asks the driver how full the volume at a path is.
//
// Upstream: csi_metrics.go GetMetrics and csi_client.go NodeGetVolumeStats, v1.37.
func (v *podVolume) metrics(ctx context.Context, at string) (*volume.Metrics, error) {
	c, err := v.plugin.client(v.driver)
	if err != nil {
		return nil, err
	}
	ctx = v.plugin.operation(ctx)
	can, err := c.supports(ctx, socket.GetVolumeStats)
	switch {
	case err != nil:
		return nil, err
	case !can:
		return nil, fmt.Errorf("metrics are not supported for %s", v.driver)
	case v.handle == "":
		return nil, errors.New("missing volume id")
	}
	answer, err := c.Stats(ctx, v.handle, at)
	if err != nil {
		return nil, err
	}
	if answer == nil {
		return nil, errors.New("failed to get usage from response. usage is nil")
	}
	metrics := &volume.Metrics{}
	for _, usage := range answer {
		switch usage.Unit {
		case socket.UsageBytes:
			metrics.Available, metrics.Capacity, metrics.Used = quantity(usage.Available), quantity(usage.Total), quantity(usage.Used)
		case socket.UsageFiles:
			metrics.InodesFree, metrics.Inodes, metrics.InodesUsed = quantity(usage.Available), quantity(usage.Total), quantity(usage.Used)
		default:
			v.plugin.note("unknown unit in VolumeUsage: " + usage.Unit)
		}
	}
	return metrics, nil
}

func quantity(n int64) *resource.Quantity { return resource.NewQuantity(n, resource.BinarySI) }
