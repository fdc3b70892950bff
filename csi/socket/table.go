package socket

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/storagesim/storagesim/internal/fault"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/trace"
)

// Table holds the sockets of a cluster's machines. The zero value has none and no disks. Its methods are safe for
// concurrent use, but hooks run in the goroutine that changes the table.
type Table struct {
	// Disk returns the disk of a machine, "node/node-1"; nil if there is no such machine. If Disk is not set,
	// sockets have no files.
	Disk func(machine string) *disk.Disk

	// Abandoned, if set, is called when a caller's process ends before it has the answer of a call. The record has
	// the code that the answer would have had. Such a call is not in the trace.
	Abandoned func(caller string, r trace.RPC)

	mu        sync.Mutex
	open      map[Place]Server
	watchers  []*watcher
	faults    fault.Script[Fault]
	transport Transport
}

// Place is the address of a socket: the machine, "node/node-1", and the clean path on its disk.
type Place struct{ Machine, Path string }

// At returns a place. name may be a path that is not clean.
func At(machine, name string) Place { return Place{machine, path.Clean(name)} }

func (p Place) String() string { return p.Path + " on " + p.Machine }

// Server listens on a socket.
type Server interface {
	// Kill ends the server and leaves its file, like a process that is killed. It reports whether it was alive.
	Kill() bool
}

// Add creates the file of a socket and starts a server there. Callers reach it by the transport.
func (t *Table) Add(at Place, by Transport, start func() (Server, error)) error {
	if err := t.makeFile(at); err != nil {
		return err
	}
	server, err := start()
	if err != nil {
		return fmt.Errorf("socket %s: %w", at, err)
	}
	t.mu.Lock()
	if t.open == nil {
		t.open = map[Place]Server{}
	}
	t.open[at], t.transport = server, by
	t.mu.Unlock()
	t.tell(at)
	return nil
}

// Abandon reports a call to Abandoned.
func (t *Table) Abandon(caller string, r trace.RPC) {
	if t.Abandoned != nil {
		t.Abandoned(caller, r)
	}
}

// Drop removes a server that has ended. Its file stays.
func (t *Table) Drop(at Place) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, at)
}

// RemoveFile removes the file of a socket.
func (t *Table) RemoveFile(at Place) error {
	if t.Disk == nil {
		return nil
	}
	if on := t.Disk(at.Machine); on != nil {
		if err := on.Remove(at.Path); err != nil {
			return fmt.Errorf("socket %s: %w", at, err)
		}
	}
	t.tell(at)
	return nil
}

// HasFile reports whether a file exists at the path of a socket.
func (t *Table) HasFile(at Place) bool {
	if t.Disk == nil {
		return false
	}
	on := t.Disk(at.Machine)
	if on == nil {
		return false
	}
	_, err := on.Lstat(at.Path)
	return err == nil
}

// Close ends all servers and leaves their files.
func (t *Table) Close() {
	t.mu.Lock()
	var all []Server
	for _, at := range slices.SortedFunc(maps.Keys(t.open), func(a, b Place) int { return strings.Compare(a.String(), b.String()) }) {
		all = append(all, t.open[at])
	}
	t.mu.Unlock()
	for _, server := range all {
		server.Kill()
	}
}

// Server returns the server at a place, nil if none listens.
func (t *Table) Server(at Place) Server {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open[at]
}

// Listening reports whether a server listens there.
func (t *Table) Listening(machine, name string) bool { return t.Server(At(machine, name)) != nil }

// In returns the paths of the sockets in a directory of a machine, and below it, on which a server listens, sorted.
func (t *Table) In(machine, dir string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var found []string
	for at := range t.open {
		if at.Machine == machine && isBelow(at.Path, dir) {
			found = append(found, at.Path)
		}
	}
	slices.Sort(found)
	return found
}

// Transport returns the transport to the servers; nil before the first has listened.
func (t *Table) Transport() Transport {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.transport
}

func isBelow(name, dir string) bool {
	return strings.HasPrefix(name, strings.TrimSuffix(path.Clean(dir), "/")+"/")
}

// makeFile creates the file of a socket, and its directory.
func (t *Table) makeFile(at Place) error {
	if t.Disk == nil {
		return nil
	}
	on := t.Disk(at.Machine)
	if on == nil {
		return fmt.Errorf("socket %s: there is no such machine", at)
	}
	if err := errors.Join(on.MkdirAll(path.Dir(at.Path), 0o755), on.MakeSocket(at.Path)); err != nil {
		return fmt.Errorf("socket %s: %w", at, err)
	}
	return nil
}

// watcher is a subscription to sockets that come and go.
type watcher struct {
	machine, dir string
	changed      func(name string)
}

// Watch calls changed with the path of a socket in a directory of a machine, or below it, when a server begins to
// listen there, and when it removes the file. stop ends that. changed runs in the step of the server that listens,
// and must not wait.
func (t *Table) Watch(machine, dir string, changed func(name string)) (stop func()) {
	w := &watcher{machine, path.Clean(dir), changed}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watchers = append(t.watchers, w)
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.watchers = slices.DeleteFunc(t.watchers, func(other *watcher) bool { return other == w })
	}
}

func (t *Table) tell(at Place) {
	t.mu.Lock()
	watchers := slices.Clone(t.watchers)
	t.mu.Unlock()
	for _, w := range watchers {
		if w.machine == at.Machine && isBelow(at.Path, w.dir) {
			w.changed(at.Path)
		}
	}
}
