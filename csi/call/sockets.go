package call

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"path"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/storagesim/storagesim/internal/fault"
	"github.com/storagesim/storagesim/machine/disk"
)

// MaxPath is how many bytes the path of a unix socket may have: Linux keeps 108, the last
// of which is 0.
const MaxPath = 107

// Sockets are the sockets of a cluster's machines. The zero value has none and no disks.
// Its methods are safe for concurrent use, except that hooks are called by those who change it.
type Sockets struct {
	// Disk is the disk of a machine, "node/node-1"; nil if there is no such machine. If it
	// is not set, sockets have no files.
	Disk func(machine string) *disk.Disk

	mu       sync.Mutex
	open     map[place]*Listener
	watchers []*watcher
	faults   fault.Script[Fault]
}

// place is where a socket is.
type place struct{ machine, path string }

func (p place) String() string { return p.path + " on " + p.machine }

// Socket says where a server listens.
type Socket struct {
	// Machine is the machine, "node/node-1", and Path the socket's absolute path there.
	Machine, Path string
	// Driver is the name of the driver in traces and for faults.
	Driver string
	// Register adds the services, for example csi.RegisterNodeServer. Options are those of
	// the server, such as interceptors.
	Register func(grpc.ServiceRegistrar)
	Options  []grpc.ServerOption
	// Address, if set, is that of a server in another process, as grpc.NewClient takes it
	// ("unix:///run/csi.sock"); Register and Options are not used.
	Address string
	// Panicked, if set, hears of a handler that panicked, after its connections are broken.
	// It is called in a step of the caller.
	Panicked func(method string, value any, at string)
	// Crash, if set, ends the process of the server for a Fault that says so, and has it
	// start again after Fault.Restart. The listener is killed by then.
	Crash func(f Fault)
}

// Listener is a server that listens.
type Listener struct {
	socket  Socket
	sockets *Sockets
	conn    *grpc.ClientConn
	server  *grpc.Server // nil for one in another process

	mu      sync.Mutex
	closed  bool
	failure *failure // of a handler
}

// Listen starts a server. Like bind, it refuses a path that is too long, one on which a
// server listens, and one where there is a file; a socket that nobody listens on is replaced,
// as drivers remove theirs when they start.
func (s *Sockets) Listen(socket Socket) (*Listener, error) {
	at := place{socket.Machine, path.Clean(socket.Path)}
	switch {
	case !path.IsAbs(socket.Path):
		return nil, fmt.Errorf("socket %q on %s: the path is not absolute", socket.Path, socket.Machine)
	case len(socket.Path) > MaxPath:
		return nil, fmt.Errorf("socket %s on %s: the path has %d bytes; a unix socket's may have at most %d", socket.Path, socket.Machine, len(socket.Path), MaxPath)
	case socket.Register == nil && socket.Address == "":
		return nil, fmt.Errorf("socket %s: it has no services", at)
	case s.at(at) != nil:
		return nil, fmt.Errorf("socket %s: address already in use", at)
	}
	l := &Listener{socket: socket, sockets: s}
	if err := s.makeFile(at); err != nil {
		return nil, err
	}
	if err := l.connect(); err != nil {
		return nil, fmt.Errorf("socket %s: %w", at, err)
	}
	s.mu.Lock()
	if s.open == nil {
		s.open = map[place]*Listener{}
	}
	s.open[at] = l
	s.mu.Unlock()
	s.tell(at)
	return l, nil
}

// connect makes the one connection that all callers share.
func (l *Listener) connect() (err error) {
	insecurely := grpc.WithTransportCredentials(insecure.NewCredentials())
	if l.socket.Address != "" {
		l.conn, err = grpc.NewClient(l.socket.Address, insecurely)
		return err
	}
	memory := bufconn.Listen(1 << 16)
	l.server = grpc.NewServer(append([]grpc.ServerOption{grpc.ChainUnaryInterceptor(l.guard)}, l.socket.Options...)...)
	l.socket.Register(l.server)
	go func() { _ = l.server.Serve(memory) }() // ends with Stop
	l.conn, err = grpc.NewClient("passthrough:///"+l.socket.Machine, insecurely, grpc.WithNoProxy(),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return memory.DialContext(ctx) }))
	return err
}

// Close ends the server and removes its file, as a process does that exits. Calls under way
// are broken.
func (l *Listener) Close() error {
	if !l.Kill() || l.sockets.Disk == nil {
		return nil
	}
	at := l.place()
	if on := l.sockets.Disk(at.machine); on != nil {
		if err := on.Remove(at.path); err != nil {
			return fmt.Errorf("socket %s: %w", at, err)
		}
	}
	l.sockets.tell(at)
	return nil
}

// Kill ends the server and leaves its file, as a process does that is killed. It reports
// whether it was alive.
func (l *Listener) Kill() bool {
	l.mu.Lock()
	alive := !l.closed
	l.closed = true
	l.mu.Unlock()
	if !alive {
		return false
	}
	l.sockets.mu.Lock()
	delete(l.sockets.open, l.place())
	l.sockets.mu.Unlock()
	_ = l.conn.Close()
	if l.server != nil {
		l.server.Stop()
	}
	return true
}

func (l *Listener) place() place { return place{l.socket.Machine, path.Clean(l.socket.Path)} }

// Close ends all servers and leaves their files.
func (s *Sockets) Close() {
	s.mu.Lock()
	var all []*Listener
	for _, at := range slices.SortedFunc(maps.Keys(s.open), func(a, b place) int { return strings.Compare(a.String(), b.String()) }) {
		all = append(all, s.open[at])
	}
	s.mu.Unlock()
	for _, l := range all {
		l.Kill()
	}
}

// Listening says whether a server listens there.
func (s *Sockets) Listening(machine, name string) bool {
	return s.at(place{machine, path.Clean(name)}) != nil
}

// In are the sockets in a directory of a machine, and below it, that somebody listens on:
// their paths, sorted.
func (s *Sockets) In(machine, dir string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []string
	for at := range s.open {
		if at.machine == machine && isBelow(at.path, dir) {
			found = append(found, at.path)
		}
	}
	slices.Sort(found)
	return found
}

func isBelow(name, dir string) bool {
	return strings.HasPrefix(name, strings.TrimSuffix(path.Clean(dir), "/")+"/")
}

func (s *Sockets) at(p place) *Listener {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[p]
}

// makeFile makes the file of a socket, and its directory.
func (s *Sockets) makeFile(at place) error {
	if s.Disk == nil {
		return nil
	}
	on := s.Disk(at.machine)
	if on == nil {
		return fmt.Errorf("socket %s: there is no such machine", at)
	}
	if err := errors.Join(on.MkdirAll(path.Dir(at.path), 0o755), on.MakeSocket(at.path)); err != nil {
		return fmt.Errorf("socket %s: %w", at, err)
	}
	return nil
}

// watcher is told of sockets that come and go.
type watcher struct {
	machine, dir string
	changed      func(name string)
}

// Watch has changed called with the path of a socket in a directory of a machine, or below
// it, when a server begins to listen there, and when it removes the file. stop ends that.
// changed is called in the step of who listens, and must not wait.
func (s *Sockets) Watch(machine, dir string, changed func(name string)) (stop func()) {
	w := &watcher{machine, path.Clean(dir), changed}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers = append(s.watchers, w)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.watchers = slices.DeleteFunc(s.watchers, func(other *watcher) bool { return other == w })
	}
}

func (s *Sockets) tell(at place) {
	s.mu.Lock()
	watchers := slices.Clone(s.watchers)
	s.mu.Unlock()
	for _, w := range watchers {
		if w.machine == at.machine && isBelow(at.path, w.dir) {
			w.changed(at.path)
		}
	}
}
