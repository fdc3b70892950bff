package machine

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/storagesim/storagesim/internal/fault"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
	"github.com/storagesim/storagesim/trace"
)

// Set is the machines of a cluster, and their faults. The zero value has none. Faults may
// strike at any time; otherwise it is not safe for concurrent use.
type Set struct {
	// Struck, if set, is told of each fault that strikes.
	Struck func(trace.MachineStruck)

	machines []*Machine          // in the order they were added
	named    map[string]*Machine // by String
	faults   fault.Script[Fault]
	paused   atomic.Bool
}

// Add makes a machine. Its name must be new.
func (s *Set) Add(cfg Config) (*Machine, error) {
	name := string(cfg.Kind) + "/" + cfg.Name
	if s.named[name] != nil {
		return nil, fmt.Errorf("there is a machine called %s already", name)
	}
	m, err := newMachine(cfg, s.mounting)
	if err != nil {
		return nil, err
	}
	if s.named == nil {
		s.named = map[string]*Machine{}
	}
	s.machines, s.named[name] = append(s.machines, m), m
	s.watch(m)
	return m, nil
}

// Remove closes a machine's disk and takes it out of the set.
func (s *Set) Remove(m *Machine) error {
	delete(s.named, m.String())
	s.machines = slices.DeleteFunc(s.machines, func(other *Machine) bool { return other == m })
	return m.close()
}

// Of returns the machines of a kind, in the order they were added.
func (s *Set) Of(kind Kind) []*Machine {
	return slices.DeleteFunc(slices.Clone(s.machines), func(m *Machine) bool { return m.kind != kind })
}

// Names returns the names of all machines, "node/node-1": nodes, then servers.
func (s *Set) Names() []string {
	var names []string
	for _, kind := range kinds() {
		for _, m := range s.Of(kind) {
			names = append(names, m.String())
		}
	}
	return names
}

// Find returns the machine called "node/NAME" or "nfs/NAME". Its error lists the machines.
func (s *Set) Find(name string) (*Machine, error) {
	if m := s.named[name]; m != nil {
		return m, nil
	}
	kind, short := split(name)
	if !slices.Contains(kinds(), kind) {
		expected := "node/NAME or nfs/NAME"
		if len(s.Of(Host)) > 0 {
			expected = "node/NAME, nfs/NAME or host/NAME"
		}
		return nil, fmt.Errorf("%q is not a machine%s; expected %s", name, prose.DidYouMean(name, s.Names()), expected)
	}
	var others []string
	for _, m := range s.Of(kind) {
		others = append(others, m.name)
	}
	return nil, fmt.Errorf("no %s is called %q%s", kind, short, prose.OneOf(short, others))
}

// Disk returns the disk of a machine; nil if there is no machine of that name.
func (s *Set) Disk(kind Kind, name string) *disk.Disk {
	if m := s.named[string(kind)+"/"+name]; m != nil {
		return m.disk
	}
	return nil
}

// Unmount takes all real mounts away. Others are on disks and stay there.
func (s *Set) Unmount() error {
	var errs []error
	for _, m := range s.machines {
		errs = append(errs, m.unmountAll())
	}
	return errors.Join(errs...)
}

// Close closes the disks. Unmount first: rm -rf goes through real mounts.
func (s *Set) Close() error {
	var errs []error
	for _, m := range s.machines {
		errs = append(errs, m.close())
	}
	s.machines, s.named = nil, nil
	return errors.Join(errs...)
}

// mounting returns the error of the fault that strikes a mount operation, if any.
func (s *Set) mounting(m *Machine, op mount.Op) error {
	if !s.mayStrike() {
		return nil
	}
	about, paths := op.Target, []string{op.Target}
	if op.Source != "" {
		about, paths = op.Source+" on "+op.Target, append(paths, op.Source)
	}
	return s.strike(m, op.Verb, about, paths)
}
