package sidecar

import (
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/storagesim/storagesim/control"
)

// Common holds the fields that the Configs of attacher, resizer and snapshotter share. Driver and Dial are required.
type Common struct {
	// Driver is the name of the CSI driver.
	Driver string
	// Dial returns a connection to the driver for one life of the actor. It must not call anything. Calls have the
	// deadlines of control.WithTimeout.
	Dial func(env control.Env) grpc.ClientConnInterface
	// Timeout is the longest time of one call of the driver.
	Timeout time.Duration
	// RetryIntervalStart is the time from a failure to the next try. It doubles with each failure up to RetryIntervalMax.
	// Defaults: 1 s and 5 min.
	RetryIntervalStart, RetryIntervalMax time.Duration
	// Resync is the interval at which all objects are looked at again.
	Resync time.Duration
}

// SetDefaults checks these fields and other numbers of a Config, and replaces 0 by the defaults. sidecar is the name of
// the sidecar's package.
func (c *Common) SetDefaults(sidecar string, timeout, resync time.Duration, workers Number, others ...Time) error {
	return Check(sidecar, c.Driver, c.Dial, workers, append([]Time{
		{"Timeout", &c.Timeout, timeout},
		{"RetryIntervalStart", &c.RetryIntervalStart, time.Second},
		{"RetryIntervalMax", &c.RetryIntervalMax, 5 * time.Minute},
		{"Resync", &c.Resync, resync},
	}, others...)...)
}

// Field is a field of a Config that must not be negative, and the default that replaces 0.
type Field[T int | time.Duration] struct {
	Name    string
	Value   *T
	Default T
}

// Number is a field with a number.
type Number = Field[int]

// Time is a field with a duration.
type Time = Field[time.Duration]

// set replaces 0 by the default.
func (f Field[T]) set(of string) error {
	if *f.Value < 0 {
		return fmt.Errorf("%s: Config.%s is %v; it must be positive, or 0 for the default", of, f.Name, *f.Value)
	}
	if *f.Value == 0 {
		*f.Value = f.Default
	}
	return nil
}

// Check checks the fields that the Configs of all sidecars have, and sets the defaults. sidecar is the name of the
// sidecar's package, which begins the error.
func Check(sidecar, driver string, dial func(env control.Env) grpc.ClientConnInterface, workers Number, times ...Time) error {
	of := fmt.Sprintf("%s of driver %q", sidecar, driver)
	switch {
	case driver == "":
		return fmt.Errorf("%s.Config.Driver is empty; it must be the name of a CSI driver", sidecar)
	case dial == nil:
		return fmt.Errorf("%s: Config.Dial must be set", of)
	}
	if err := workers.set(of); err != nil {
		return err
	}
	for _, field := range times {
		if err := field.set(of); err != nil {
			return err
		}
	}
	return nil
}
