package rest

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// gzipThreshold is the size in bytes from which answers are compressed, for clients that
// accept it. Upstream: apiserver responsewriters defaultGzipThresholdBytes, v1.36.
const gzipThreshold = 128 << 10

// send writes an object, which says its kind, as the whole answer.
func (o output) send(w http.ResponseWriter, r *http.Request, code int, obj runtime.Object) {
	encoder := runtime.Encoder(o.info.Serializer)
	if o.pretty && o.info.PrettySerializer != nil {
		encoder = o.info.PrettySerializer
	}
	var body bytes.Buffer
	if err := encoder.Encode(obj, &body); err != nil {
		http.Error(w, "the answer cannot be written as "+o.info.MediaType+": "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", o.info.MediaType)
	w.Header().Set("Cache-Control", "no-cache, private")
	if r.Method == http.MethodHead {
		w.WriteHeader(code)
		return
	}
	if body.Len() > gzipThreshold && acceptsGzip(r) {
		sendCompressed(w, code, body.Bytes())
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(code)
	_, _ = w.Write(body.Bytes()) // the client has gone: there is nobody to tell
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
