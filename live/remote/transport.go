package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"k8s.io/client-go/transport"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/storagesim/storagesim/internal/typedpatch"
)

// answerWithin is the time that the server may take for an answer.
const answerWithin = time.Minute

// transport makes an actor's requests: each counts for the actor's limit, waits without the
// actor's lock, and is told of if it writes. client-go calls it in the goroutine of
// who asks, which is the one that holds the lock. All paths of the server begin with base.
func (p *process) transport(limit flowcontrol.RateLimiter, base string) transport.WrapperFunc {
	return func(next http.RoundTripper) http.RoundTripper {
		return &roundTripper{p, limit, strings.TrimSuffix(base, "/"), next}
	}
}

type roundTripper struct {
	process *process
	limit   flowcontrol.RateLimiter
	base    string // of the server's paths: empty, or such as /k8s/clusters/c-1
	next    http.RoundTripper
}

// RoundTrip implements http.RoundTripper. The answer is there as a whole when it returns.
func (t *roundTripper) RoundTrip(req *http.Request) (answer *http.Response, err error) {
	if req, err = withValues(req); err != nil {
		return nil, err
	}
	write := t.process.writeOf(req, strings.TrimPrefix(req.URL.Path, t.base))
	t.process.outside(func() {
		ctx, cancel := context.WithTimeout(req.Context(), answerWithin)
		defer cancel()
		if err = t.limit.Wait(ctx); err != nil {
			return
		}
		answer, err = t.whole(req.WithContext(ctx)) // client-go closes it
	})
	if err != nil {
		return nil, err
	}
	t.process.wrote(write, answer)
	return answer, nil
}

// withValues returns the request, with the JSON of the patch that a component gives as Go values, which only a client of the same process reads.
func withValues(req *http.Request) (*http.Request, error) {
	values := typedpatch.Of(req.Context())
	if values == nil {
		return req, nil
	}
	data, err := json.Marshal(values)
	if err != nil {
		return nil, err
	}
	if req.Body != nil {
		_ = req.Body.Close() // it is empty
	}
	req = req.Clone(req.Context())
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	req.Body, err = req.GetBody()
	req.ContentLength = int64(len(data))
	return req, err
}

// whole returns the answer with its body in memory.
func (t *roundTripper) whole(req *http.Request) (*http.Response, error) {
	answer, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(answer.Body)
	if closing := answer.Body.Close(); err == nil {
		err = closing
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return answer, err
}
