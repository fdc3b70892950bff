package resizer

import (
	"time"

	"google.golang.org/grpc"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi/internal/sidecar"
)

// Config configures one resizer. Driver and Dial are required; the other fields have
// upstream's defaults.
type Config struct {
	// Driver is the name of the CSI driver, as in the PersistentVolumes.
	Driver string
	// Dial is a connection to the driver for one life of the actor. It must not call
	// anything. Deadlines of calls are those of control.WithTimeout.
	Dial func(env control.Env) grpc.ClientConnInterface

	// Timeout of one call of the driver; default 10 s.
	Timeout time.Duration
	// RetryIntervalStart is the time that after a failure it is tried again, doubled each time
	// up to RetryIntervalMax; defaults 1 s and 5 min. What can never be is tried again every
	// RetryIntervalMax.
	RetryIntervalStart, RetryIntervalMax time.Duration
	// Workers is the number of claims are worked on at once; default 10.
	Workers int
	// Resync is the number of times that everything is looked at again; default 10 min.
	Resync time.Duration
	// ExtraModifyMetadata adds the names of claim and volume to the parameters of
	// ControllerModifyVolume, as --extra-modify-metadata does.
	ExtraModifyMetadata bool
	// IgnoreVolumeInUseError has a volume be tried again whether pods have it or not, as
	// --handle-volume-inuse-error=false does.
	IgnoreVolumeInUseError bool
}

// checked returns the config with its defaults, or what is wrong with it.
func (c Config) checked() (Config, error) {
	err := sidecar.Check("resizer", c.Driver, c.Dial, sidecar.Number{Name: "Workers", Value: &c.Workers, Default: 10},
		sidecar.Time{Name: "Timeout", Value: &c.Timeout, Default: 10 * time.Second},
		sidecar.Time{Name: "RetryIntervalStart", Value: &c.RetryIntervalStart, Default: time.Second},
		sidecar.Time{Name: "RetryIntervalMax", Value: &c.RetryIntervalMax, Default: 5 * time.Minute},
		sidecar.Time{Name: "Resync", Value: &c.Resync, Default: 10 * time.Minute},
	)
	return c, err
}
