package rest

import (
	"bytes"
	"context"
	"io"
	"net/http"

	restclient "k8s.io/client-go/rest"
)

// Config is a client's configuration whose transport is the handler itself: no port, no
// TLS, no goroutine but for watches, and so usable inside a bubble of testing/synctest.
// Requests are made in the name of actor.
func (h *Handler) Config(actor string) *restclient.Config {
	return &restclient.Config{
		Host: "http://storagesim", UserAgent: actor, Transport: transport{h, actor},
		// Nothing has to be protected from the client.
		QPS: -1,
	}
}

// transport calls the handler in the goroutine of the caller.
type transport struct {
	handler http.Handler
	actor   string
}

// RoundTrip implements http.RoundTripper. The answer to a watch comes while the handler
// runs in a goroutine of its own, which ends with the request or when the body is closed.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.WithValue(r.Context(), actorKey{}, t.actor))
	in := r.Clone(ctx)
	in.RequestURI = r.URL.RequestURI()
	if r.Body != nil {
		defer r.Body.Close()
	}
	if !isTrue(r.URL.Query()["watch"]) {
		defer cancel()
		w := &recorder{header: http.Header{}}
		t.handler.ServeHTTP(w, in)
		return w.response(r, io.NopCloser(&w.body), int64(w.body.Len())), nil
	}
	pr, pw := io.Pipe()
	w := &streamer{recorder: recorder{header: http.Header{}}, pipe: pw, begun: make(chan struct{})}
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

// recorder keeps a whole answer.
type recorder struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *recorder) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
	}
}

// Write implements http.ResponseWriter.
func (w *recorder) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

func (w *recorder) response(r *http.Request, body io.ReadCloser, length int64) *http.Response {
	w.WriteHeader(http.StatusOK)
	return &http.Response{
		Status: http.StatusText(w.code), StatusCode: w.code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: body, ContentLength: length, Request: r,
	}
}

// streamer hands an answer over as it is written.
type streamer struct {
	recorder
	pipe  *io.PipeWriter
	begun chan struct{}
}

// WriteHeader implements http.ResponseWriter.
func (w *streamer) WriteHeader(code int) {
	if w.code == 0 {
		w.recorder.WriteHeader(code)
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
