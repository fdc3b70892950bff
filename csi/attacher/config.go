package attacher

import (
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi/internal/sidecar"
)

// Config configures one attacher. Driver and Dial are required; the other fields have
// upstream's defaults.
type Config struct {
	// Driver is the name of the CSI driver, as in spec.attacher of VolumeAttachments.
	Driver string
	// Dial is a connection to the driver for one life of the actor. It must not call
	// anything. Deadlines of calls are those of control.WithTimeout.
	Dial func(env control.Env) grpc.ClientConnInterface

	// Timeout of one call of the driver; default 15 s.
	Timeout time.Duration
	// RetryIntervalStart is the time that after a failure it is tried again, doubled each time
	// up to RetryIntervalMax; defaults 1 s and 5 min.
	RetryIntervalStart, RetryIntervalMax time.Duration
	// WorkerThreads is the number of VolumeAttachments, and how many volumes, are worked on at
	// once; default 10.
	WorkerThreads int
	// Resync is the number of times that everything is looked at again; default 10 min.
	Resync time.Duration
	// ReconcileSync is the number of times that a driver that can list its published volumes is asked for
	// them; default 1 min.
	ReconcileSync time.Duration
	// MaxEntries is the number of volumes the driver is asked to list in one answer; default 0,
	// no limit.
	MaxEntries int
	// DefaultFSType is the file system of volumes that name none; default none.
	DefaultFSType string
}

// checked returns the config with its defaults, or what is wrong with it.
func (c Config) checked() (Config, error) {
	err := sidecar.Check("attacher", c.Driver, c.Dial, sidecar.Number{Name: "WorkerThreads", Value: &c.WorkerThreads, Default: 10},
		sidecar.Time{Name: "Timeout", Value: &c.Timeout, Default: 15 * time.Second},
		sidecar.Time{Name: "RetryIntervalStart", Value: &c.RetryIntervalStart, Default: time.Second},
		sidecar.Time{Name: "RetryIntervalMax", Value: &c.RetryIntervalMax, Default: 5 * time.Minute},
		sidecar.Time{Name: "Resync", Value: &c.Resync, Default: 10 * time.Minute},
		sidecar.Time{Name: "ReconcileSync", Value: &c.ReconcileSync, Default: time.Minute},
	)
	switch {
	case err != nil:
		return c, err
	case c.MaxEntries < 0:
		return c, fmt.Errorf("attacher of driver %q: Config.MaxEntries is %d; it must not be negative", c.Driver, c.MaxEntries)
	}
	return c, nil
}
