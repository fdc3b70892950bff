package trace

import (
	"fmt"
	"time"
)

// AssetOp is an operation on an Asset.
type AssetOp string

// The operations on an asset.
const (
	// Made is recorded as soon as the asset exists.
	Made AssetOp = "make"
	// Removed is recorded after it was removed, with all files below it.
	Removed AssetOp = "remove"
	// Kept says that it stays on purpose and is not a leak.
	Kept AssetOp = "keep"
)

// Asset is a directory, or another file, that a program in a container or a provisioner
// made outside of the API, removed, or keeps on purpose. Package explain/leaks compares
// these records with the machines' files.
type Asset struct {
	Op AssetOp
	// Machine is "node/NAME" or "nfs/NAME", Path an absolute path on it.
	Machine, Path string
	// Volume is the name of its PersistentVolume, "" if unknown.
	Volume string
	// About is the pod of the program, or the claim or volume that the provisioner works for.
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

// Call is a finished call of a provisioner's code.
type Call struct {
	// Method is "Provision" or "Delete", About the claim or the volume, and
	// Volume the name of the volume.
	Method string
	About  Ref
	Volume string
	// Class is the class of the error Err: for Provision the returned state
	// ("Finished", "Background", "NoChange", "Reschedule"), for Delete "Error", and
	// "Ignored" if the call was left to another provisioner. Both are "" on success.
	Class, Err string
	// Took is the virtual time that the call took.
	Took time.Duration
}

// Topic implements Record.
func (Call) Topic() string { return "call" }

// String tells the call as that of a CSI driver is told, see RPC.
func (c Call) String() string {
	result := "OK"
	switch {
	case c.Err != "":
		result = c.Class + ": " + c.Err
	case c.Method == "Provision":
		result = "OK, pv " + c.Volume
	}
	s := fmt.Sprintf("calls %s for %s: %s", c.Method, c.About, result)
	if c.Took > 0 {
		s += fmt.Sprintf(" after %s", c.Took)
	}
	return s
}
