package resizer

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/storagesim/storagesim/control"
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
	// RetryIntervalStart is how long after a failure it is tried again, doubled each time
	// up to RetryIntervalMax; defaults 1 s and 5 min. What can never be is tried again every
	// RetryIntervalMax.
	RetryIntervalStart, RetryIntervalMax time.Duration
	// Workers is how many claims are worked on at once; default 10.
	Workers int
	// Resync is how often everything is looked at again; default 10 min.
	Resync time.Duration
	// IgnoreVolumeInUseError has a volume be tried again whether pods have it or not, as
	// --handle-volume-inuse-error=false does.
	IgnoreVolumeInUseError bool
}

// checked returns the config with its defaults, or what is wrong with it.
func (c Config) checked() (Config, error) {
	switch {
	case c.Driver == "":
		return c, errors.New("resizer.Config.Driver is empty; it must be the name of a CSI driver")
	case c.Dial == nil:
		return c, fmt.Errorf("resizer of driver %q: Config.Dial must be set", c.Driver)
	case c.Workers < 0:
		return c, fmt.Errorf("resizer of driver %q: Config.Workers is %d; it must be positive, or 0 for the default", c.Driver, c.Workers)
	}
	for _, field := range []struct {
		name         string
		value        *time.Duration
		defaultValue time.Duration
	}{
		{"Timeout", &c.Timeout, 10 * time.Second},
		{"RetryIntervalStart", &c.RetryIntervalStart, time.Second},
		{"RetryIntervalMax", &c.RetryIntervalMax, 5 * time.Minute},
		{"Resync", &c.Resync, 10 * time.Minute},
	} {
		if *field.value < 0 {
			return c, fmt.Errorf("resizer of driver %q: Config.%s is %s; it must be positive, or 0 for the default", c.Driver, field.name, *field.value)
		}
		if *field.value == 0 {
			*field.value = field.defaultValue
		}
	}
	if c.Workers == 0 {
		c.Workers = 10
	}
	return c, nil
}
