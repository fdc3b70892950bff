package sidecar

import (
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/storagesim/storagesim/control"
)

// Field is a field of a sidecar's Config that must not be negative, and whose default
// replaces 0.
type Field[T int | time.Duration] struct {
	Name    string
	Value   *T
	Default T
}

// Number is a field that counts.
type Number = Field[int]

// Time is a field that says how long.
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

// Check checks what the Configs of all sidecars have, and sets the defaults. sidecar is the
// name of the sidecar's package, which begins the error; driver and dial are the fields
// Driver and Dial.
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
