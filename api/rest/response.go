package rest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// gzipThreshold is the size in bytes from which answers are compressed, for clients that
// accept it. Upstream: apiserver responsewriters defaultGzipThresholdBytes, v1.37.
const gzipThreshold = 128 << 10

// encode writes an object, which says its kind, in this form.
func (o output) encode(obj runtime.Object) ([]byte, error) {
	encoder := runtime.Encoder(o.info.Serializer)
	if o.pretty && o.info.PrettySerializer != nil {
		encoder = o.info.PrettySerializer
	}
	var body bytes.Buffer
	if err := encoder.Encode(obj, &body); err != nil {
		return nil, fmt.Errorf("the answer cannot be written as %s: %w", o.info.MediaType, err)
	}
	return body.Bytes(), nil
}

// send writes an object, which says its kind, as the whole answer.
func (o output) send(w http.ResponseWriter, r *http.Request, code int, obj runtime.Object) {
	body, err := o.encode(obj)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	sendBody(w, r, code, o.info.MediaType, body)
}

// uncached is the header by which clients keep no answer.
var uncached = []string{"no-cache, private"}

// keeper is a writer that can take a whole body as it is.
type keeper interface{ keep(body []byte) }

// sendBody sends a whole answer.
func sendBody(w http.ResponseWriter, r *http.Request, code int, mediaType string, body []byte) {
	header := w.Header()
	header["Content-Type"] = []string{mediaType}
	header["Cache-Control"] = uncached
	if r.Method == http.MethodHead {
		w.WriteHeader(code)
		return
	}
	if len(body) > gzipThreshold && acceptsGzip(r) {
		sendCompressed(w, code, body)
		return
	}
	header["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(code)
	if k, ok := w.(keeper); ok {
		k.keep(body)
		return
	}
	_, _ = w.Write(body) // the client has gone
}

func sendCompressed(w http.ResponseWriter, code int, body []byte) {
	w.Header().Set("Content-Encoding", "gzip")
	w.Header().Add("Vary", "Accept-Encoding")
	w.WriteHeader(code)
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	_, _ = z.Write(body)
	_ = z.Close()
}

func acceptsGzip(r *http.Request) bool {
	for _, encoding := range strings.Split(r.Header.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(encoding) == "gzip" {
			return true
		}
	}
	return false
}
