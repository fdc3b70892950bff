package resizer

import (
	"time"

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
}

// checked returns the config with its defaults, or an error if it is invalid.
func (c Config) checked() (Config, error) {
	err := c.SetDefaults("resizer", 10*time.Second, 10*time.Minute, sidecar.Number{Name: "Workers", Value: &c.Workers, Default: 10})
	return c, err
}
