package rest

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"

	restclient "k8s.io/client-go/rest"
)

// ConfigUntil returns the configuration of a client whose connections end with ctx: watches break,
// and each later request fails with "connection refused", as if no server listened.
func (h *Handler) ConfigUntil(ctx context.Context, actor string) *restclient.Config {
	cfg := h.Config(actor)
	cfg.Transport = ending{cfg.Transport, ctx}
	return cfg
}

// ending is a transport that works until life ends.
type ending struct {
	next http.RoundTripper
	life context.Context
}

// RoundTrip implements http.RoundTripper.
func (t ending) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.life.Err() != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, refused()
	}
	ctx, cancel := context.WithCancel(r.Context())
	release := context.AfterFunc(t.life, cancel)
	answer, err := t.next.RoundTrip(r.WithContext(ctx))
	if err != nil || t.life.Err() != nil {
		release()
		cancel()
		if err == nil {
			_ = answer.Body.Close()
		}
		if t.life.Err() != nil {
			return nil, refused()
		}
		return nil, err
	}
	body := answer.Body
	closing := sync.OnceValue(func() error {
		cancel()
		return body.Close()
	})
	unhook := context.AfterFunc(t.life, func() { _ = closing() })
	answer.Body = &endingBody{body, func() error {
		release()
		unhook()
		return closing()
	}}
	return answer, nil
}

// endingBody is the body of an answer, with a Close of its own.
type endingBody struct {
	io.Reader
	close func() error
}

// Close implements io.Closer.
func (b *endingBody) Close() error { return b.close() }

func refused() error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
}
