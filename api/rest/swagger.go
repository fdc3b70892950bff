package rest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/munnerz/goautoneg"

	"github.com/storagesim/storagesim/api/rest/internal/openapi"
)

// The form of OpenAPI v2 in protobuf. Clients ask for it under the old name too.
const (
	swaggerProtobuf    = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
	swaggerProtobufOld = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
)

// swagger is the document of OpenAPI v2. It is made when a client asks for it, and again
// once the kinds have changed.
type swagger struct {
	mu       sync.Mutex
	hash     string
	json     []byte
	protobuf []byte // nil until a client asks for it: making it takes far longer
}

// get returns the document in one form, with the tag by which clients know it again.
func (s *swagger) get(h *Handler, mediaType string) (text []byte, etag string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lists := h.server.Resources()
	if hash := h.hash(lists...); hash != s.hash {
		var resources []openapi.Resource
		for _, list := range lists {
			resources = append(resources, h.described(list)...)
		}
		text, err := json.Marshal(openapi.Swagger(h.server.Version().GitVersion, resources))
		if err != nil {
			return nil, "", err
		}
		s.hash, s.json, s.protobuf = hash, text, nil
	}
	if mediaType == runtime.ContentTypeJSON {
		return s.json, s.hash, nil
	}
	if s.protobuf == nil {
		document, err := openapi_v2.ParseDocument(s.json)
		if err != nil {
			return nil, "", err
		}
		if s.protobuf, err = proto.Marshal(document); err != nil {
			return nil, "", err
		}
	}
	return s.protobuf, s.hash, nil
}

// serveSwagger serves /openapi/v2.
// Upstream: kube-openapi handler RegisterOpenAPIVersionedService.
func (h *Handler) serveSwagger(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", "Accept")
	mediaType := swaggerType(r.Header.Get("Accept"))
	if mediaType == "" {
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	text, etag, err := h.swagger.get(h, mediaType)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Etag", strconv.Quote(etag))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
}

// swaggerType returns the first form of an Accept header that there is, "" if there is none.
func swaggerType(accept string) string {
	if accept == "" {
		return runtime.ContentTypeJSON
	}
	for _, clause := range goautoneg.ParseAccept(accept) {
		switch clause.Type + "/" + clause.SubType {
		case "*/*", "application/*", runtime.ContentTypeJSON:
			return runtime.ContentTypeJSON
		case swaggerProtobuf, swaggerProtobufOld:
			return swaggerProtobuf
		}
	}
	return ""
}
