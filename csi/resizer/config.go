package resizer

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/csi/internal/sidecar"
)

// Config configures one resizer. Driver and Dial are required. The other fields have upstream's defaults.
type Config struct {
	// Common.Timeout and Common.Resync are 10 s and 10 min by default. What can never succeed is tried again every
	// RetryIntervalMax.
	sidecar.Common
	// Workers is the number of claims that are worked on at once; default 10.
	Workers int
	// ExtraModifyMetadata adds the names of claim and volume to the parameters of
	// ControllerModifyVolume, as --extra-modify-metadata does.
	ExtraModifyMetadata bool
	// IgnoreVolumeInUseError retries a volume no matter whether pods use it, as
	// --handle-volume-inuse-error=false does.
	IgnoreVolumeInUseError bool
	// DropMissing leaves a claim whose volume is not in the cache yet until the next resync; default false: the claim is
	// tried again. v1.14 did not (external-resizer 521).
	DropMissing bool
	// Settled reports whether nothing is to be done for a claim's class; default: the volume has the class that the
	// claim requests, and no change is recorded. v1.14 did not look whether a change had failed, so that a wrong class
	// could not be taken back (external-resizer 482).
	Settled func(*v1.PersistentVolumeClaim) bool
}

// settled reports whether a claim's volume has the class that the claim requests, and no change is recorded.
//
// Upstream: modify_volume.go modify, v2.3.
func settled(claim *v1.PersistentVolumeClaim) bool {
	return claim.Status.ModifyVolumeStatus == nil && deref(claim.Spec.VolumeAttributesClassName) == deref(claim.Status.CurrentVolumeAttributesClassName)
}

// checked returns the config with its defaults, or an error if it is invalid.
func (c Config) checked() (Config, error) {
	err := c.SetDefaults("resizer", 10*time.Second, 10*time.Minute, sidecar.Number{Name: "Workers", Value: &c.Workers, Default: 10})
	if c.Settled == nil {
		c.Settled = settled
	}
	return c, err
}
