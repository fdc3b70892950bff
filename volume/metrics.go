package volume

import (
	"context"

	"k8s.io/apimachinery/pkg/api/resource"
)

// MetricsProvider is a Mounter or Unmounter of a volume that says how full it is.
//
// Upstream: pkg/volume/volume.go MetricsProvider, v1.36.
type MetricsProvider interface {
	// GetMetrics says what of the volume is used.
	GetMetrics(ctx context.Context) (*Metrics, error)
}

// Metrics is how full a volume is: bytes, and inodes. What is not known is nil.
//
// Upstream: pkg/volume/volume.go Metrics, v1.36.
type Metrics struct {
	Used, Capacity, Available      *resource.Quantity
	InodesUsed, Inodes, InodesFree *resource.Quantity
}
