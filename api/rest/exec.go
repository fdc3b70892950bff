package rest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/streaming/pkg/httpstream/wsstream"
)

// Streams are the streams that a client has connected to a command; nil if it did not ask for
// one.
type Streams struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Gone is closed when the client has gone.
	Gone <-chan struct{}
}

// The channels of a connection, and the protocol that they are spoken in. v4 is v5 without
// a way to close one channel.
// Upstream: apimachinery util/remotecommand constants.go, v1.37.
const (
	stdinChannel = iota
	stdoutChannel
	stderrChannel
	errorChannel
	resizeChannel

	protocolV5 = "v5.channel.k8s.io"
	protocolV4 = "v4.channel.k8s.io"
)

// idleStream is the time that a connection may be without a byte in either direction.
// Upstream: cri-streaming server.go DefaultConfig and Config.StreamIdleTimeout, v0.37.
const idleStream = 4 * time.Hour

// errAnswered says that the client has an answer: the upgrade has failed, or the connection has ended.
var errAnswered = errors.New("the client has been answered")

// exec runs a command in a container, whose streams are the channels of a WebSocket, or those of SPDY.
// Upstream: pkg/registry/core/pod/rest ExecREST and cri-streaming/pkg/streaming/remotecommand
// ServeExec, v1.37.
func (c *call) exec() error {
	if err := c.reachNodes(); err != nil {
		return err
	}
	if c.r.Method != http.MethodGet && c.r.Method != http.MethodPost {
		return methodNotAllowed()
	}
	opts := c.execOptions()
	if !opts.Stdin && !opts.Stdout && !opts.Stderr {
		return badRequest("you must specify at least 1 of stdin, stdout, stderr")
	}
	var conn *connection
	code, err := c.h.nodes.Exec(c.r.Context(), c.pod(), opts, func() (s *Streams, err error) {
		conn, s, err = c.upgrade(opts)
		return s, err
	})
	switch {
	case errors.Is(err, errAnswered):
		return nil
	case conn == nil:
		return err
	}
	conn.end(code, err)
	return nil
}

// connection carries the streams of a command.
type connection struct {
	status io.Writer // is told how the command has ended
	close  func()
}

// upgrade turns the request into a connection.
// Upstream: cri-streaming/pkg/streaming/remotecommand createStreams, v0.37.
func (c *call) upgrade(opts *corev1.PodExecOptions) (*connection, *Streams, error) {
	switch {
	case wsstream.IsWebSocketRequest(c.r):
		return c.upgradeWebSocket(opts)
	case isSPDY(c.r):
		return c.upgradeSPDY(opts)
	}
	return nil, nil, badRequest("Upgrade request required")
}

// upgradeWebSocket turns the request into a WebSocket that has a channel for each stream.
// Upstream: cri-streaming/pkg/streaming/remotecommand createWebSocketStreams, v0.37.
func (c *call) upgradeWebSocket(opts *corev1.PodExecOptions) (*connection, *Streams, error) {
	direction := func(asked bool, as wsstream.ChannelType) wsstream.ChannelType {
		if asked {
			return as
		}
		return wsstream.IgnoreChannel
	}
	protocol := wsstream.ChannelProtocolConfig{Binary: true, Channels: []wsstream.ChannelType{
		stdinChannel:  direction(opts.Stdin, wsstream.ReadChannel),
		stdoutChannel: direction(opts.Stdout, wsstream.WriteChannel),
		stderrChannel: direction(opts.Stderr && !opts.TTY, wsstream.WriteChannel),
		errorChannel:  wsstream.WriteChannel,
		resizeChannel: wsstream.ReadChannel,
	}}
	conn := wsstream.NewConn(map[string]wsstream.ChannelProtocolConfig{protocolV5: protocol, protocolV4: protocol})
	conn.SetIdleTimeout(idleStream)
	quiet := c.r.WithContext(klog.NewContext(c.r.Context(), logr.Discard())) // it logs that clients go
	_, channels, err := conn.Open(lingeringWriter{c.w}, quiet)
	if err != nil {
		return nil, nil, err
	}
	gone := make(chan struct{})
	s := &Streams{Gone: gone}
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, channels[resizeChannel]) // ends with the connection
	}()
	if opts.Stdin {
		s.Stdin = channels[stdinChannel]
	}
	if opts.Stdout {
		s.Stdout = channels[stdoutChannel]
	}
	if opts.Stderr && !opts.TTY {
		s.Stderr = channels[stderrChannel]
	}
	return &connection{status: channels[errorChannel], close: func() { _ = conn.Close() }}, s, nil
}

// end tells the client how the command has ended, and closes the connection.
// Upstream: cri-streaming/pkg/streaming/remotecommand ServeExec, v0.37.
func (c *connection) end(code int32, err error) {
	status := &metav1.Status{Status: metav1.StatusSuccess}
	switch {
	case err != nil:
		status = &apierrors.NewInternalError(err).ErrStatus
	case code != 0:
		status = &metav1.Status{
			Status: metav1.StatusFailure, Reason: nonZeroExit,
			Message: fmt.Sprintf("command terminated with non-zero exit code: %d", code),
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: exitCodeCause, Message: strconv.Itoa(int(code))}}},
		}
	}
	text, err := json.Marshal(status)
	if err != nil {
		panic(err) // it holds nothing but texts
	}
	_, _ = c.status.Write(text) // the client may have gone
	c.close()
}

// Upstream: apimachinery util/remotecommand NonZeroExitCodeReason and ExitCodeCauseType, v1.37.
const (
	nonZeroExit   metav1.StatusReason = "NonZeroExitCode"
	exitCodeCause metav1.CauseType    = "ExitCode"
)
