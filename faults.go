package storagesim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/storagesim/storagesim/csi/socket"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/machine"
)

// Fault is a failure on purpose, one of four: an engine.Fault strikes calls to the API server, a machine.Fault mounts and files of a
// machine, a call.Fault (package csi/call) calls to CSI drivers, and an engine.PointFault points of an author's code (package
// mayfail).
type Fault interface {
	// String says in a few words what the fault strikes.
	String() string
}

// Inject adds a fault. The error names the field that is wrong. Of several faults that match, the one added first strikes.
//
// The Resource of an engine.Fault can have any name that kubectl knows ("pv", "pods/binding"), and its Name can be a reference,
// "namespace/name" or, where Resource is not set, "pvc/namespace/name".
func (c *Cluster) Inject(f Fault) error {
	if c.closed {
		return engine.ErrClosed
	}
	switch f := f.(type) {
	case engine.Fault:
		return c.injectCall(f)
	case machine.Fault:
		f.Machine = c.canonical(f.Machine)
		return c.machines.Inject(f)
	case socket.Fault:
		return c.injectCSI(f)
	case engine.PointFault:
		return c.engine.InjectPoint(f)
	}
	return fmt.Errorf("Inject: %T is not a fault; expected an engine.Fault, a machine.Fault, a call.Fault or an engine.PointFault", f)
}

// injectCall adds a fault of calls to the API server. Its Resource can have any name that kubectl knows ("pv",
// "pods/binding"), and its Name can be a reference, "namespace/name" or, where Resource is
// not set, "pvc/namespace/name".
func (c *Cluster) injectCall(f engine.Fault) (err error) {
	if f.Resource == "" && strings.Contains(f.Name, "/") {
		f.Resource, _, _ = strings.Cut(f.Name, "/")
	}
	if f.Resource != "" {
		if f.Resource, err = manifest.Plural(c.server().Registry(), f.Resource); err != nil {
			return fmt.Errorf("fault: %w", err)
		}
	}
	if strings.Contains(f.Name, "/") {
		plural, _, _ := strings.Cut(f.Resource, "/")
		at, err := manifest.ParseRefOf(c.server().Registry(), plural, f.Name)
		if err != nil {
			return fmt.Errorf("fault: %w", err)
		}
		f.Namespace, f.Name = at.Namespace, at.Name
	}
	return c.engine.Inject(f)
}

// injectCSI adds a fault of calls to CSI drivers.
func (c *Cluster) injectCSI(f socket.Fault) error {
	if f.Machine != "" {
		if _, err := c.machines.Find(f.Machine); err != nil {
			return fmt.Errorf("call.Fault.Machine: %w", err)
		}
	}
	if known := c.csiNames(); f.Driver != "" && !slices.Contains(known, f.Driver) {
		return fmt.Errorf("call.Fault.Driver: there is no CSI driver %q%s", f.Driver, prose.OneOf(f.Driver, known))
	}
	if known := c.engine.Actors(); f.Caller != "" && !slices.Contains(known, f.Caller) {
		return fmt.Errorf("call.Fault.Caller: there is no actor %q%s", f.Caller, prose.OneOf(f.Caller, known))
	}
	return c.sockets.Inject(f)
}
