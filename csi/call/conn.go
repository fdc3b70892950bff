package call

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi/socket"
	"github.com/storagesim/storagesim/internal/bounded"
	"github.com/storagesim/storagesim/internal/stacks"
)

var _ grpc.ClientConnInterface = (*Conn)(nil)

// Conn calls the server of one socket for one actor. Dial returns it.
type Conn struct {
	sockets *Sockets
	env     control.Env
	at      socket.Place
	failed  map[string]string // the last errors of routine calls, by method
}

// Dial returns a connection of the actor whose Env it is to a socket of a machine, "node/node-1". The server may
// start later.
func Dial(s *Sockets, env control.Env, machine, name string) *Conn {
	return newConn(s, env, socket.At(machine, name))
}

// NewStream implements grpc.ClientConnInterface: streams are not supported.
func (c *Conn) NewStream(_ context.Context, _ *grpc.StreamDesc, method string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Errorf(codes.Unimplemented, "%s is a stream; only calls with one request and one answer are supported", method)
}

func newConn(s *Sockets, env control.Env, at socket.Place) *Conn {
	return &Conn{sockets: s, env: env, at: at, failed: map[string]string{}}
}

// Invoke implements grpc.ClientConnInterface.
func (c *Conn) Invoke(ctx context.Context, method string, req, answer any, opts ...grpc.CallOption) error {
	message, ok := answer.(proto.Message)
	if !ok {
		return status.Errorf(codes.Internal, "the answer of %s is wanted in a %T, which is no protobuf message", method, answer)
	}
	began := c.env.Now()
	it := &invocation{Conn: c, ctx: ctx, method: method, req: req, answer: message, opts: opts}
	ended := false
	defer func() {
		if !ended { // the caller's process ends: this unwinds its stack
			c.sockets.Abandon(c.env.Name(), it.record(it.would, c.env.Now().Sub(began)))
		}
	}()
	err := shortened(it.run())
	ended = true
	r := it.record(err, c.env.Now().Sub(began))
	if r.Routine {
		r.Repeated = r.Err != "" && c.failed[r.Method] == r.Err
		c.failed[r.Method] = r.Err
	}
	c.env.Trace(r)
	return err
}

// maxMessage is the number of bytes of an error that are kept: it goes into events, conditions, attachments and
// each attempt's record.
const maxMessage = 4 << 10

// shortened returns an error with a message of bounded length, and with the same code and details.
func shortened(err error) error {
	if err == nil {
		return nil
	}
	said := status.Convert(err).Proto()
	if len(said.GetMessage()) <= maxMessage {
		return err
	}
	said.Message = bounded.Text(said.GetMessage(), maxMessage)
	return status.ErrorProto(said)
}

// invocation is one call.
type invocation struct {
	*Conn
	ctx    context.Context
	method string
	req    any
	answer proto.Message
	opts   []grpc.CallOption
	driver string
	fault  string // the effect of a fault, in words
	stack  string // of the driver's code, if it panicked or does not return
	would  error  // the answer that a fault delays
}

// run does the whole call: faults before it, the call itself, faults after it.
func (c *invocation) run() error {
	if err := c.yield(); err != nil {
		return err
	}
	l := listenerAt(c.sockets, c.at)
	if l != nil {
		c.driver = l.socket.Driver
	}
	if err := c.suffer(l, false); err != nil {
		return err
	}
	if l = listenerAt(c.sockets, c.at); l == nil {
		return c.noServer()
	}
	c.driver = l.socket.Driver // it may have come while a fault delayed the call
	err := c.ask(l)
	if failed := l.takeFailure(); failed != nil && failed.planned != nil {
		return c.crashed(l, failed)
	} else if failed != nil {
		return c.panicked(l, failed)
	}
	if late := c.delayed(l); late != nil {
		return late
	}
	if struck := c.suffer(l, true); struck != nil {
		return struck
	}
	return cmp.Or(err, c.misplaced(l))
}

// yield lets other actors run, and refuses a call whose context has ended.
func (c *invocation) yield() error {
	if outside, ok := c.env.(control.Outside); ok {
		outside.Await(c.ctx, func() <-chan struct{} { return nil })
	}
	if err := c.ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	return nil
}

// ask makes the real call, and waits for the answer.
func (c *invocation) ask(l *Listener) error {
	ctx, cancel := c.contextFor(l)
	defer cancel()
	if sent, ok := metadata.FromOutgoingContext(c.ctx); ok {
		ctx = metadata.NewOutgoingContext(ctx, sent)
	}
	server, err := l.callee()
	if err != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
	// The server writes into a message of its own: a caller whose process ends does not wait for the answer, and what
	// it asked into is read for the record of the call meanwhile.
	received := c.answer.ProtoReflect().New().Interface()
	answered := make(chan struct{})
	var failure error
	var once sync.Once
	end := func(err error) { once.Do(func() { failure = err; close(answered) }) }
	defer context.AfterFunc(ctx, func() { end(l.broken(ctx)) })() // a handler may go on
	begin := func() <-chan struct{} {
		go func() {
			stacks.Grow()
			end(server.Invoke(ctx, c.method, onThisMachine(l.socket.Root, c.req), received, c.opts...))
		}()
		return answered
	}
	take := func() error {
		if failure == nil {
			proto.Reset(c.answer)
			proto.Merge(c.answer, received)
		}
		return failure
	}
	outside, ok := c.env.(control.Outside)
	if !ok {
		<-begin()
		return take()
	}
	if outside.Await(c.ctx, begin) && (l.server != nil || ctx.Err() == nil) {
		err := take()
		if l.socket.Address != "" && status.Code(err) == codes.Unavailable {
			c.fault = "the driver" + l.where() + " is not there, or its connection broke"
		}
		return err
	}
	l.mu.Lock()
	c.stack = l.running.Stack()
	l.mu.Unlock()
	cancel()
	<-answered
	c.fault = "the driver" + l.where() + " does not answer"
	return c.hang()
}

// callee carries out a call: a server in this process, or a connection to one in another.
type callee interface {
	Invoke(ctx context.Context, method string, req, answer any, opts ...grpc.CallOption) error
}

func (l *Listener) callee() (callee, error) {
	if l.server != nil {
		return l.server, nil
	}
	return l.connection()
}

// broken returns the error of a call whose context has ended: that of the server, or its own.
func (l *Listener) broken(ctx context.Context) error {
	if l.server != nil && l.server.ctx.Err() != nil {
		return errBroken()
	}
	return status.FromContextError(ctx.Err()).Err()
}

// contextFor returns the context of the real call, which ends with a server in this process. In a live run a server in another
// process gets the caller's deadline. Otherwise there is no deadline, since the caller's is virtual.
func (c *invocation) contextFor(l *Listener) (context.Context, context.CancelFunc) {
	if l.server != nil {
		return context.WithCancel(l.server.ctx)
	}
	outside, ok := c.env.(control.Outside)
	if left, ends := control.Remaining(c.ctx, c.env.Now()); ok && ends && outside.IsLive() {
		return context.WithTimeout(context.Background(), left)
	}
	return context.WithCancel(context.Background())
}

// where returns " at ADDRESS" for a server in another process.
func (l *Listener) where() string {
	if l.socket.Address == "" {
		return ""
	}
	return " at " + l.socket.Address
}

// hang waits for the caller's deadline in virtual time.
func (c *invocation) hang() error {
	const long = 365 * 24 * time.Hour
	if _, ends := control.Remaining(c.ctx, c.env.Now()); ends {
		return status.FromContextError(c.env.Sleep(c.ctx, 100*long)).Err()
	}
	for {
		if err := c.env.Sleep(control.InBackground(c.ctx), long); err != nil {
			return status.FromContextError(err).Err()
		}
	}
}

// suffer applies the fault that matches, if there is one, and returns the error for the caller.
func (c *invocation) suffer(l *Listener, after bool) error {
	f := c.strike(after)
	if f == nil {
		return nil
	}
	words, err := outcome(f)
	c.fault, c.would = words, err
	switch {
	case f.Hang:
		return c.hang()
	case f.Delay > 0:
		if ended := c.env.Sleep(c.ctx, f.Delay); ended != nil {
			return status.FromContextError(ended).Err()
		}
	}
	switch {
	case f.Answer != nil:
		f.Answer(c.answer)
	case f.Crash && l != nil:
		l.Kill()
		if l.socket.Crash != nil {
			l.socket.Crash(*f)
		}
	}
	return err
}

// panicked ends the process of a server whose handler has panicked, and returns the error for the caller.
func (c *invocation) panicked(l *Listener, f *failure) error {
	c.stack = f.stack
	c.fault = fmt.Sprintf("the driver panics in %s, at %s: %v", shortMethod(f.method), f.at, f.value)
	l.Kill()
	if l.socket.Panicked != nil {
		l.socket.Panicked(shortMethod(f.method), f.value, f.at)
	}
	return errBroken()
}

// noServer returns the error of a call to a socket without a server.
func (c *invocation) noServer() error {
	why := "connect: no such file or directory"
	if c.sockets.HasFile(c.at) {
		why = "connect: connection refused"
	}
	return status.Errorf(codes.Unavailable, "connection error: desc = \"transport: Error while dialing: dial unix %s: %s\"", c.at.Path, why)
}
