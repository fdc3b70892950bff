package rest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"golang.org/x/net/websocket"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/streaming/pkg/httpstream/wsstream"
)

// watch serves a watch until the client goes, its time is over or the watch ends.
// Upstream: apiserver handlers handleWatch and WatchServer.HandleHTTP, v1.37.
func (c *call) watch() error {
	req := c.request("watch")
	req.Name = ""
	if err := c.listOptions(&req.List); err != nil {
		return err
	}
	if c.out.info.StreamSerializer == nil {
		return notAcceptable("%s cannot be streamed", c.out.info.MediaType)
	}
	table, err := c.tableOptions()
	if err != nil {
		return err
	}
	ctx := c.r.Context()
	w, err := c.h.server.Watch(ctx, req)
	if err != nil {
		return err
	}
	defer w.Stop()
	if s := req.List.TimeoutSeconds; s != nil && *s != 0 { // a negative one has passed already
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(*s)*time.Second)
		defer cancel()
	}
	if wsstream.IsWebSocketRequest(c.r) {
		return c.streamToWebSocket(ctx, w, table)
	}
	c.stream(ctx, w, table)
	return nil
}

// stream sends the events of a watch as they come.
func (c *call) stream(ctx context.Context, w watch.Interface, table *metav1.TableOptions) {
	mediaType := c.out.info.MediaType
	if mediaType != runtime.ContentTypeJSON {
		mediaType += ";stream=watch"
	}
	c.w.Header().Set("Content-Type", mediaType)
	c.w.Header().Set("Cache-Control", "no-cache, private")
	c.w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(c.w)
	_ = out.Flush() // a writer that cannot be flushed sends at the end
	frames := c.out.info.StreamSerializer.Framer.NewFrameWriter(c.w)
	c.send(ctx, w, table, func(frame []byte) error {
		_, err := frames.Write(frame)
		_ = out.Flush()
		return err
	})
}

// send hands the events of a watch over as they come, until the watch or ctx ends or the
// client has gone. If the cause of ctx is an answer of the API, it is the last event.
func (c *call) send(ctx context.Context, w watch.Interface, table *metav1.TableOptions, write func(frame []byte) error) {
	for {
		event, ok := next(ctx, w)
		if !ok {
			return
		}
		frame, err := c.encode(event.Type, event.Object, func() ([]byte, error) { return c.frame(event, table) })
		if err != nil || write(frame) != nil || event.Type == watch.Error {
			return
		}
	}
}

// next returns the next event of a watch, false at its end.
func next(ctx context.Context, w watch.Interface) (watch.Event, bool) {
	select {
	case event, ok := <-w.ResultChan():
		if ok {
			return event, true
		}
	case <-ctx.Done():
	}
	if why, ok := context.Cause(ctx).(apierrors.APIStatus); ok {
		status := why.Status()
		return watch.Event{Type: watch.Error, Object: &status}, true
	}
	return watch.Event{}, false
}

// streamToWebSocket sends each event as a message: a text if it is JSON, else binary. What
// the client sends is ignored.
// Upstream: apiserver handlers WatchServer.HandleWS, v1.37.
func (c *call) streamToWebSocket(ctx context.Context, w watch.Interface, table *metav1.TableOptions) error {
	if _, ok := c.w.(http.Hijacker); !ok {
		return badRequest("this connection cannot become a WebSocket")
	}
	websocket.Handler(func(conn *websocket.Conn) {
		ctx, gone := context.WithCancel(ctx)
		defer gone()
		go func() {
			defer gone()
			_, _ = io.Copy(io.Discard, conn) // ends with the connection
		}()
		c.send(ctx, w, table, func(frame []byte) error {
			if c.out.info.MediaType == runtime.ContentTypeJSON {
				return websocket.Message.Send(conn, string(frame))
			}
			return websocket.Message.Send(conn, frame)
		})
	}).ServeHTTP(c.w, c.r)
	return nil
}

// frame returns an event in the form that the client asked for.
func (c *call) frame(event watch.Event, table *metav1.TableOptions) ([]byte, error) {
	obj, err := c.convert(event.Object, table)
	if err != nil {
		return nil, err
	}
	if table != nil {
		table.NoHeaders = true // the columns come once
	}
	var inner, outer bytes.Buffer
	if err := c.out.info.Serializer.Encode(obj, &inner); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	err = c.out.info.StreamSerializer.Encode(&metav1.WatchEvent{
		Type: string(event.Type), Object: runtime.RawExtension{Raw: bytes.TrimRight(inner.Bytes(), "\n")},
	}, &outer)
	return outer.Bytes(), err
}
