package trace

import (
	"fmt"
	"time"
)

// AssetOp is what was done to an Asset.
type AssetOp string

// What can be done to an asset.
const (
	// Made is said as soon as it is there.
	Made AssetOp = "make"
	// Removed is it with all below it.
	Removed AssetOp = "remove"
	// Kept is left behind on purpose: it is no leak.
	Kept AssetOp = "keep"
)

// Asset is a directory, or another file, that a program in a container or a provisioner
// made outside of the API, removed, or keeps on purpose. The search for leaks compares
// what was made with what is there.
type Asset struct {
	Op AssetOp
	// Machine is "node/NAME" or "nfs/NAME", Path an absolute path on it.
	Machine, Path string
	// Volume is the PersistentVolume it is for, "" if that is not known.
	Volume string
	// About is the pod whose program did it, or the claim or volume for which a provisioner
	// did it.
	About Ref
}

// Topic implements Record.
func (Asset) Topic() string { return "asset" }

func (a Asset) String() string {
	s := fmt.Sprintf("%ss %s on %s", a.Op, a.Path, a.Machine)
	if a.About.Kind != "" {
		s += " for " + a.About.String()
	}
	return s
}

// Call is a call of a provisioner's code that has come to its end.
type Call struct {
	// Method is "Provision" or "Delete", About the claim or the volume that it was for, and
	// Volume the name of the volume.
	Method string
	About  Ref
	Volume string
	// Class says what kind of error Err is: of Provision the state that it returned with it
	// ("Finished", "Background", "NoChange", "Reschedule"), of Delete "Error", and
	// "Ignored" if the call was left to another provisioner. Both are "" on success.
	Class, Err string
	// Took is how much virtual time the call took.
	Took time.Duration
}

// Topic implements Record.
func (Call) Topic() string { return "call" }

func (c Call) String() string {
	s := fmt.Sprintf("%s of %s ", c.Method, c.About)
	switch {
	case c.Err != "":
		s += fmt.Sprintf("returns an error (%s) after %s: %s", c.Class, c.Took, c.Err)
	case c.Method == "Provision":
		s += fmt.Sprintf("returns pv %s after %s", c.Volume, c.Took)
	default:
		s += fmt.Sprintf("succeeds after %s", c.Took)
	}
	return s
}
