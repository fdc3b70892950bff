package call

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi/socket"
	"github.com/storagesim/storagesim/internal/stacks"
)

// MaxPath is the number of bytes that the path of a unix socket may have: Linux has room for 108, the last of which
// is 0.
const MaxPath = 107

// Sockets holds the sockets of a cluster's machines.
type Sockets = socket.Table

// Socket describes a server and the place where it listens.
type Socket struct {
	// Machine is the machine, "node/node-1", and Path the socket's absolute path there.
	Machine, Path string
	// Driver is the name of the driver in traces and for faults.
	Driver string
	// Register adds the services, for example csi.RegisterNodeServer. It is called once more if Outside is set.
	Register func(grpc.ServiceRegistrar)
	// Interceptors see each call before its handler, the first one first.
	Interceptors []grpc.UnaryServerInterceptor
	// Address, if set, is the address of a server in another process, in the form of Connect
	// ("unix:///run/csi.sock"); Register and Interceptors are then not used.
	Address string
	// Root, if set, is the directory of this computer with the machine's files: paths on the machine are passed to the
	// server as paths below it. Default: unchanged.
	Root string
	// Outside, if set, is the path of a unix socket of this computer on which the server also listens, for programs
	// outside of the simulation. Their calls are no steps, and no faults strike them.
	Outside string
	// Env, if set, is that of the process of the server: faults strike the points of its handlers (package mayfail) if
	// it implements control.Points. It is not used for a server in another process.
	Env control.Env
	// Panicked, if set, is called after a handler has panicked and its connections are broken, in a step of the
	// caller.
	Panicked func(method string, value any, at string)
	// Crash, if set, ends the process of the server for a Fault with Crash, and starts it again after Fault.Restart.
	// The listener is killed before.
	Crash func(f Fault)
}

// Listener is a server on a socket.
type Listener struct {
	socket  Socket
	sockets *Sockets
	server  *server          // nil for one in another process,
	conn    *grpc.ClientConn // to which this is a connection
	outside *grpc.Server     // nil without Socket.Outside

	mu      sync.Mutex
	closed  bool
	failure *failure      // of a handler
	running stacks.Mark   // that of the last handler
	late    time.Duration // by which points have delayed the answer of a handler
}

// Listen starts a server. Like bind, it refuses a path that is too long, on which a server listens, or at which
// there is a file. It replaces a socket without a server, as drivers remove theirs when they start.
func Listen(s *Sockets, what Socket) (*Listener, error) {
	at := socket.At(what.Machine, what.Path)
	switch {
	case !path.IsAbs(what.Path):
		return nil, fmt.Errorf("socket %q on %s: the path is not absolute", what.Path, what.Machine)
	case len(what.Path) > MaxPath:
		return nil, fmt.Errorf("socket %s on %s: the path has %d bytes; a unix socket's may have at most %d", what.Path, what.Machine, len(what.Path), MaxPath)
	case what.Register == nil && what.Address == "":
		return nil, fmt.Errorf("socket %s: it has no services", at)
	case s.Server(at) != nil:
		return nil, fmt.Errorf("socket %s: address already in use", at)
	}
	l := &Listener{socket: what, sockets: s}
	err := s.Add(at, transport{s}, func() (socket.Server, error) { return l, l.connect() })
	if err != nil {
		return nil, err
	}
	return l, nil
}

// listenerAt returns the listener at a place, nil if there is none.
func listenerAt(s *Sockets, at socket.Place) *Listener {
	l, _ := s.Server(at).(*Listener) // no other type is added
	return l
}

// connect makes the server, or opens the one connection to it that all callers share.
func (l *Listener) connect() (err error) {
	if l.socket.Address != "" {
		l.conn, err = Connect(l.socket.Address)
		return err
	}
	intercept := append([]grpc.UnaryServerInterceptor{l.guard}, l.socket.Interceptors...)
	l.server = newServer(&net.UnixAddr{Name: l.socket.Path, Net: "unix"}, intercept...)
	l.socket.Register(l.server)
	return l.listenOutside(intercept)
}

// listenOutside makes the server also listen on a socket of this computer. It replaces a file that an earlier server
// left there.
func (l *Listener) listenOutside(intercept []grpc.UnaryServerInterceptor) error {
	if l.socket.Outside == "" {
		return nil
	}
	if err := os.Remove(l.socket.Outside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	outside, err := new(net.ListenConfig).Listen(context.Background(), "unix", l.socket.Outside)
	if err != nil {
		return err
	}
	l.outside = grpc.NewServer(grpc.ChainUnaryInterceptor(intercept...))
	l.socket.Register(l.outside)
	go func() { _ = l.outside.Serve(outside) }() // ends with Stop
	return nil
}

// Close ends the server and removes its file, like a process that exits. Running calls are broken.
func (l *Listener) Close() error {
	if !l.Kill() {
		return nil
	}
	return l.sockets.RemoveFile(l.place())
}

// Kill ends the server and leaves its file, like a process that is killed. It reports whether it was alive.
func (l *Listener) Kill() bool {
	l.mu.Lock()
	alive, conn := !l.closed, l.conn
	l.closed = true
	l.mu.Unlock()
	if !alive {
		return false
	}
	l.sockets.Drop(l.place())
	if conn != nil {
		_ = conn.Close()
	} else {
		l.server.stop()
	}
	if l.outside != nil {
		l.outside.Stop()
	}
	return true
}

// breakCalls breaks the calls of a server in this process, and all that come later.
func (l *Listener) breakCalls() {
	l.server.stop()
	if l.outside != nil {
		go l.outside.Stop() // it may wait for the handler that calls this
	}
}

func (l *Listener) place() socket.Place { return socket.At(l.socket.Machine, l.socket.Path) }
