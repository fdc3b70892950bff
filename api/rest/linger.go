package rest

import (
	"bufio"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// lingerTime is the time that a client has to take what was written before a connection was closed, and to close it itself.
const lingerTime = time.Minute

// lingeringWriter hands out a connection that lingers.
type lingeringWriter struct{ http.ResponseWriter }

// Hijack implements http.Hijacker.
func (w lingeringWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	return &lingering{Conn: conn}, buffered, nil
}

// lingering is a connection that is closed in two steps: the first Close ends what is written, the second one, by which the other side has closed it or its
// time is over, the connection. If it were closed at once, whatever the client still sends (it pings) would have the kernel drop what the client has not
// yet read: the end of what a command has printed.
type lingering struct {
	net.Conn
	ending atomic.Bool
}

// Close implements net.Conn.
func (l *lingering) Close() error {
	half, ok := l.Conn.(interface{ CloseWrite() error })
	if !ok || l.ending.Swap(true) || half.CloseWrite() != nil {
		return l.Conn.Close()
	}
	return l.Conn.SetReadDeadline(time.Now().Add(lingerTime))
}

// SetDeadline implements net.Conn. That of a connection that ends stands.
func (l *lingering) SetDeadline(t time.Time) error {
	if l.ending.Load() {
		return nil
	}
	return l.Conn.SetDeadline(t)
}
