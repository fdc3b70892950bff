package snapshotter

import (
	"cmp"
	"time"

	"github.com/storagesim/storagesim/csi/internal/sidecar"
)

// Config configures one snapshotter. Driver and Dial are required. The other fields have upstream's defaults.
type Config struct {
	// Common.Timeout is 1 min by default, Common.Resync 15 min.
	sidecar.Common
	// Workers is the number of contents that are worked on at once; default 10.
	Workers int
	// SnapshotNamePrefix begins the names of snapshots, before "-" and the UID; default "snapshot".
	SnapshotNamePrefix string
	// GroupSnapshotNamePrefix begins the names of group snapshots, before "-" and the UID; default "groupsnapshot".
	GroupSnapshotNamePrefix string
	// ExtraCreateMetadata adds the names of snapshot and content to the parameters of
	// CreateSnapshot, those of group snapshot and content to those of CreateVolumeGroupSnapshot.
	ExtraCreateMetadata bool
	// Wakes reports whether a change of a content makes the sidecar look at the content again; default: if something
	// else has changed, or if the snapshot has become ready. v8.5 did not look at the second
	// (external-snapshotter 1392).
	Wakes func(Change) bool
}

// Change says which parts of a content have changed.
type Change struct {
	// Other: something that the sidecar does not write itself.
	Other bool
	// Ready: the snapshot was not ready, and is now.
	Ready bool
	// Made: the content that is being deleted is not marked as being created any more.
	Made bool
}

// checked returns the config with its defaults, or an error if it is invalid.
func (c Config) checked() (Config, error) {
	err := c.SetDefaults("snapshotter", time.Minute, 15*time.Minute, sidecar.Number{Name: "Workers", Value: &c.Workers, Default: 10})
	c.SnapshotNamePrefix = cmp.Or(c.SnapshotNamePrefix, "snapshot")
	c.GroupSnapshotNamePrefix = cmp.Or(c.GroupSnapshotNamePrefix, "groupsnapshot")
	if c.Wakes == nil {
		c.Wakes = func(change Change) bool { return change.Other || change.Ready }
	}
	return c, err
}
