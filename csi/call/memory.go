package call

import (
	"context"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/test/bufconn"
)

// bufferSize is the number of bytes of each of a connection's two buffers.
const bufferSize = 8 << 10

// memoryListener listens in this process. Its connections leave nothing behind when they are closed: gRPC sets deadlines in real time while
// it closes one, and the timers of a bufconn hold its buffers until then, which thousands of runs a minute add up to much.
type memoryListener struct{ *bufconn.Listener }

func newMemoryListener() memoryListener { return memoryListener{bufconn.Listen(bufferSize)} }

// Accept implements net.Listener.
func (l memoryListener) Accept() (net.Conn, error) { return memory(l.Listener.Accept()) }

func (l memoryListener) dial(ctx context.Context) (net.Conn, error) {
	return memory(l.DialContext(ctx))
}

func memory(conn net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	return &memoryConn{Conn: conn}, nil
}

// memoryConn is a connection that has no deadline once it is closed.
type memoryConn struct {
	net.Conn

	mu     sync.Mutex
	closed bool
}

// Close implements net.Conn.
func (c *memoryConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	err := c.Conn.Close()
	_ = c.Conn.SetDeadline(time.Time{}) // it cannot fail
	return err
}

// SetDeadline implements net.Conn.
func (c *memoryConn) SetDeadline(t time.Time) error { return c.unlessClosed(c.Conn.SetDeadline, t) }

// SetReadDeadline implements net.Conn.
func (c *memoryConn) SetReadDeadline(t time.Time) error {
	return c.unlessClosed(c.Conn.SetReadDeadline, t)
}

// SetWriteDeadline implements net.Conn.
func (c *memoryConn) SetWriteDeadline(t time.Time) error {
	return c.unlessClosed(c.Conn.SetWriteDeadline, t)
}

func (c *memoryConn) unlessClosed(set func(time.Time) error, t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	return set(t)
}
