package rest

import (
	"io"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// The header of a stream that says which one it is, and how long a client has to make all of them.
// Upstream: cri-streaming/pkg/streaming/remotecommand constants.go and pkg/streaming server.go DefaultConfig, v0.37.
const (
	streamType     = "streamType"
	streamCreation = 30 * time.Second
)

// isSPDY reports whether a client wants to speak SPDY, as client-go's NewSPDYExecutor does, and kubectl before v1.30.
func isSPDY(r *http.Request) bool {
	return httpstream.IsUpgradeRequest(r) && r.Header.Get(httpstream.HeaderUpgrade) == spdy.HeaderSpdy31 && r.ProtoMajor == 1
}

// spdyStreams returns the types of the streams that a client makes.
func spdyStreams(opts *corev1.PodExecOptions) []string {
	types := []string{corev1.StreamTypeError}
	for name, asked := range map[string]bool{corev1.StreamTypeStdin: opts.Stdin, corev1.StreamTypeStdout: opts.Stdout,
		corev1.StreamTypeStderr: opts.Stderr && !opts.TTY, corev1.StreamTypeResize: opts.TTY} {
		if asked {
			types = append(types, name)
		}
	}
	return types
}

// upgradeSPDY turns the request into a connection whose streams the client makes, one for each that it asks for and one for the status.
// Upstream: cri-streaming/pkg/streaming/remotecommand createHTTPStreamStreams, v0.37.
func (c *call) upgradeSPDY(opts *corev1.PodExecOptions) (*connection, *Streams, error) {
	if _, err := httpstream.Handshake(c.r, c.w, []string{protocolV4}); err != nil {
		return nil, nil, errAnswered
	}
	made, over := make(chan httpstream.Stream), make(chan struct{})
	defer close(over)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(c.w, c.r, func(stream httpstream.Stream, replied <-chan struct{}) error {
		go func() { // the stream's reply is sent when this function has returned
			<-replied
			select {
			case made <- stream:
			case <-over:
			}
		}()
		return nil
	})
	if conn == nil {
		return nil, nil, errAnswered
	}
	conn.SetIdleTimeout(idleStream)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		<-conn.CloseChan()
	}()
	expired := time.NewTimer(streamCreation)
	defer expired.Stop()
	streams := map[string]httpstream.Stream{}
	for _, name := range spdyStreams(opts) {
		for streams[name] == nil {
			select {
			case stream := <-made:
				streams[stream.Headers().Get(streamType)] = stream
			case <-gone:
				return nil, nil, errAnswered
			case <-expired.C:
				_ = conn.Close()
				return nil, nil, errAnswered
			}
		}
	}
	s := &Streams{Gone: gone}
	if opts.Stdin {
		s.Stdin = streams[corev1.StreamTypeStdin]
	}
	if opts.Stdout {
		s.Stdout = streams[corev1.StreamTypeStdout]
	}
	if opts.Stderr && !opts.TTY {
		s.Stderr = streams[corev1.StreamTypeStderr]
	}
	if resize := streams[corev1.StreamTypeResize]; resize != nil {
		go func() { _, _ = io.Copy(io.Discard, resize) }() // ends with the connection
	}
	return &connection{status: streams[corev1.StreamTypeError], close: func() {
		for _, stream := range streams {
			_ = stream.Close() // a client reads each to its end, and goes then
		}
		go func() { // if the connection were closed at once, the client might lose the end of what it has not yet read
			late := time.NewTimer(lingerTime)
			defer late.Stop()
			select {
			case <-gone:
			case <-late.C:
			}
			_ = conn.Close()
		}()
	}}, s, nil
}
