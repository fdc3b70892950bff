package volume

import (
	"context"

	"k8s.io/apimachinery/pkg/api/resource"
)

// MetricsProvider is a Mounter or Unmounter of a volume that says how full it is.
//
// Upstream: pkg/volume/volume.go MetricsProvider, v1.37.
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
