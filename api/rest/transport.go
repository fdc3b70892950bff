package rest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"

	restclient "k8s.io/client-go/rest"
)

// Config returns a client's configuration whose transport is the handler itself: no port, no
// TLS, and goroutines only for watches, and so usable inside a bubble of testing/synctest.
// Requests are made in the name of actor.
func (h *Handler) Config(actor string) *restclient.Config {
	return &restclient.Config{
		Host: "http://storagesim", UserAgent: actor, Transport: transport{h, actor},
		// The server needs no protection from the client.
		QPS: -1,
	}
}

// transport calls the handler in the goroutine of the caller.
type transport struct {
	handler http.Handler
	actor   string
}

// RoundTrip implements http.RoundTripper. The answer to a watch, and a log that is followed, comes while the handler
// runs in a goroutine of its own, which ends with the request or when the body is closed.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	ctx := context.WithValue(r.Context(), actorKey{}, t.actor)
	if r.Body != nil {
		defer r.Body.Close()
	}
	if isWatch(r) || follows(r) {
		return t.watch(ctx, r)
	}
	w := &recorder{head: head{header: make(http.Header, 4)}}
	t.handler.ServeHTTP(w, r.WithContext(ctx)) // the handler does not change what the two share
	return w.response(r, w, int64(w.whole.Len()+w.body.Len())), nil
}

// follows reports whether the answer to a request is a log to which more is added while the handler runs.
func follows(r *http.Request) bool {
	return r.URL.RawQuery != "" && strings.HasSuffix(r.URL.Path, "/log") && isTrue(r.URL.Query()["follow"])
}

// watch answers while the handler runs.
func (t transport) watch(ctx context.Context, r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(ctx)
	in := r.WithContext(ctx)
	pr, pw := io.Pipe()
	w := &streamer{head: head{header: http.Header{}}, pipe: pw, begun: make(chan struct{})}
	go func() {
		t.handler.ServeHTTP(w, in)
		w.WriteHeader(http.StatusOK)
		_ = pw.Close()
	}()
	select {
	case <-w.begun:
	case <-ctx.Done():
		cancel()
		return nil, ctx.Err()
	}
	return w.response(r, &body{pr, cancel}, -1), nil
}

// body is the answer to a watch. Closing it ends the watch.
type body struct {
	*io.PipeReader
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (b *body) Close() error {
	b.cancel()
	return b.PipeReader.Close()
}

// head is an answer without its body.
type head struct {
	header http.Header
	code   int
}

// Header implements http.ResponseWriter.
func (w *head) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *head) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
	}
}

func (w *head) response(r *http.Request, body io.ReadCloser, length int64) *http.Response {
	w.WriteHeader(http.StatusOK)
	return &http.Response{
		Status: http.StatusText(w.code), StatusCode: w.code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: body, ContentLength: length, Request: r,
	}
}

// recorder keeps a whole answer. It is the body of the answer as well.
type recorder struct {
	head
	whole bytes.Reader // what was sent in one piece
	body  bytes.Buffer // what was written
}

// keep takes the whole body, which is not changed afterwards, without copying it.
func (w *recorder) keep(body []byte) { w.whole.Reset(body) }

// Read implements io.Reader.
func (w *recorder) Read(p []byte) (int, error) {
	if w.whole.Len() > 0 {
		return w.whole.Read(p)
	}
	return w.body.Read(p)
}

// Close implements io.Closer.
func (w *recorder) Close() error { return nil }

// Write implements http.ResponseWriter.
func (w *recorder) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// streamer hands an answer over as it is written.
type streamer struct {
	head
	pipe  *io.PipeWriter
	begun chan struct{}
}

// WriteHeader implements http.ResponseWriter.
func (w *streamer) WriteHeader(code int) {
	if w.code == 0 {
		w.head.WriteHeader(code)
		close(w.begun)
	}
}

// Write implements http.ResponseWriter.
func (w *streamer) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.pipe.Write(p)
}

// Flush implements http.Flusher: what is written is there at once.
func (w *streamer) Flush() {}
