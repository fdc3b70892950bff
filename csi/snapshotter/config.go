package snapshotter

import (
	"cmp"
	"time"

	"google.golang.org/grpc"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi/internal/sidecar"
)

// Config configures one snapshotter. Driver and Dial are required; the other fields have
// upstream's defaults.
type Config struct {
	// Driver is the name of the CSI driver, as in the VolumeSnapshotContents.
	Driver string
	// Dial is a connection to the driver for one life of the actor. It must not call
	// anything. Deadlines of calls are those of control.WithTimeout.
	Dial func(env control.Env) grpc.ClientConnInterface
	// Timeout of one call of the driver; default 1 min.
	Timeout time.Duration
	// RetryIntervalStart is how long after a failure it is tried again, doubled each time
	// up to RetryIntervalMax; defaults 1 s and 5 min.
	RetryIntervalStart, RetryIntervalMax time.Duration
	// Workers is how many contents are worked on at once; default 10.
	Workers int
	// Resync is how often everything is looked at again; default 15 min.
	Resync time.Duration
	// SnapshotNamePrefix begins the names of snapshots, before "-" and the UID; default "snapshot".
	SnapshotNamePrefix string
	// GroupSnapshotNamePrefix begins the names of group snapshots, before "-" and the UID; default "groupsnapshot".
	GroupSnapshotNamePrefix string
	// ExtraCreateMetadata adds the names of snapshot and content to the parameters of
	// CreateSnapshot, those of group snapshot and content to those of CreateVolumeGroupSnapshot.
	ExtraCreateMetadata bool
}

// checked returns the config with its defaults, or what is wrong with it.
func (c Config) checked() (Config, error) {
	err := sidecar.Check("snapshotter", c.Driver, c.Dial, sidecar.Number{Name: "Workers", Value: &c.Workers, Default: 10},
		sidecar.Time{Name: "Timeout", Value: &c.Timeout, Default: time.Minute},
		sidecar.Time{Name: "RetryIntervalStart", Value: &c.RetryIntervalStart, Default: time.Second},
		sidecar.Time{Name: "RetryIntervalMax", Value: &c.RetryIntervalMax, Default: 5 * time.Minute},
		sidecar.Time{Name: "Resync", Value: &c.Resync, Default: 15 * time.Minute},
	)
	c.SnapshotNamePrefix = cmp.Or(c.SnapshotNamePrefix, "snapshot")
	c.GroupSnapshotNamePrefix = cmp.Or(c.GroupSnapshotNamePrefix, "groupsnapshot")
	return c, err
}
