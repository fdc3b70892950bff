package attacher

import (
	"fmt"
	"time"

	"github.com/storagesim/storagesim/csi/internal/sidecar"
)

// Config configures one attacher. Driver, as in spec.attacher of VolumeAttachments, and Dial are required. The other
// fields have upstream's defaults.
type Config struct {
	// Common.Timeout is 15 s by default, Common.Resync 10 min.
	sidecar.Common
	// WorkerThreads is the number of VolumeAttachments, and of volumes, that are worked on at once; default 10.
	WorkerThreads int
	// DetachThreads, if it is not 0, is the number of VolumeAttachments that are detached at once, beside WorkerThreads
	// that attach. Default 0: the same workers do both, in the order of one queue, so that slow detaches hold up
	// attaches (external-attacher 761).
	DetachThreads int
	// ReconcileSync is the interval of the calls of ListVolumes, for a driver that can list its published volumes;
	// default 1 min.
	ReconcileSync time.Duration
	// MaxEntries limits the number of volumes that the driver lists in one answer; default 0,
	// no limit.
	MaxEntries int
	// DefaultFSType is the file system of volumes that name none; default none.
	DefaultFSType string
}

// checked returns the config with its defaults, or an error if it is invalid.
func (c Config) checked() (Config, error) {
	err := c.SetDefaults("attacher", 15*time.Second, 10*time.Minute, sidecar.Number{Name: "WorkerThreads", Value: &c.WorkerThreads, Default: 10},
		sidecar.Time{Name: "ReconcileSync", Value: &c.ReconcileSync, Default: time.Minute})
	switch {
	case err != nil:
		return c, err
	case c.DetachThreads < 0:
		return c, fmt.Errorf("attacher of driver %q: Config.DetachThreads is %d; it must not be negative", c.Driver, c.DetachThreads)
	case c.MaxEntries < 0:
		return c, fmt.Errorf("attacher of driver %q: Config.MaxEntries is %d; it must not be negative", c.Driver, c.MaxEntries)
	}
	return c, nil
}
