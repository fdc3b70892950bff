package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/api/views"
)

// Handler serves the Kubernetes API of a server. It does not authenticate: a server that
// listens on a port must do that before.
type Handler struct {
	server    api.Handler
	registry  *registry.Registry
	now       func() time.Time
	nodes     Nodes // nil where there is no way to them
	encodings *encodings
	swagger   *swagger
}

var _ http.Handler = (*Handler)(nil)

// New makes a handler before a server, or before what stands before one. The registry has
// the server's kinds, and now tells the time that the ages in tables are counted to.
func New(server api.Handler, registry *registry.Registry, now func() time.Time) *Handler {
	return &Handler{server: server, registry: registry, now: now, encodings: &encodings{}, swagger: &swagger{}}
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimSuffix(r.URL.Path, "/")
	if err := checkTimeout(r); err != nil {
		h.fail(w, r, err)
		return
	}
	switch {
	case path == "" || path == "/index.html":
		h.servePaths(w)
	case path == "/version":
		h.serveVersion(w, r)
	case isHealth(path):
		serveHealth(w, r)
	case path == "/openapi/v2":
		h.serveSwagger(w, r)
	case path == "/openapi/v3" || strings.HasPrefix(path, "/openapi/v3/"):
		h.serveOpenAPI(w, r, strings.TrimPrefix(strings.TrimPrefix(path, "/openapi/v3"), "/"))
	case path == "/api" || path == "/apis":
		h.serveGroups(w, r, path == "/api")
	case strings.HasPrefix(path, "/api/"):
		h.serveGroup(w, r, true, strings.TrimPrefix(path, "/api/"))
	case strings.HasPrefix(path, "/apis/"):
		h.serveGroup(w, r, false, strings.TrimPrefix(path, "/apis/"))
	default:
		http.NotFound(w, r)
	}
}

// serveVersion serves /version.
func (h *Handler) serveVersion(w http.ResponseWriter, r *http.Request) {
	if err := routed(r, mediaTypesOfKubernetes()[:1]); err != nil {
		h.fail(w, r, err)
		return
	}
	sendJSON(w, h.server.Version())
}

// checkTimeout refuses a timeout that is not a duration. A valid one has no effect: no
// request takes long. It does not apply to watches.
// Upstream: apiserver filters parseTimeout, v1.37.
func checkTimeout(r *http.Request) error {
	query := r.URL.Query()
	value := query.Get("timeout")
	if value == "" || isTrue(query["watch"]) || strings.Contains(r.URL.Path, "/watch/") {
		return nil
	}
	if _, err := time.ParseDuration(value); err != nil {
		return badRequest("invalid timeout specified in the request URL - %v", err)
	}
	return nil
}

// serveGroup serves the discovery of a group or a version, or a resource.
func (h *Handler) serveGroup(w http.ResponseWriter, r *http.Request, legacy bool, path string) {
	t, ok := parsePath(legacy, path)
	if !ok && strings.Contains(strings.Trim(path, "/"), "//") || !ok && legacy && path != "v1" {
		h.fail(w, r, unknownPath())
		return
	}
	if !ok {
		h.serveResources(w, r, legacy, path)
		return
	}
	if h.resources(t.gv) == nil && !h.inRouter(t.gv.Group) {
		http.NotFound(w, r)
		return
	}
	err := h.serveResource(w, r, t)
	switch {
	case errors.Is(err, errNotServed):
		http.NotFound(w, r)
	case err != nil:
		h.fail(w, r, err)
	}
}

// errNotServed is returned for a path of custom resources that they do not have: the answer is a text, as for any other unknown path.
// Upstream: apiextensions-apiserver crdHandler.ServeHTTP, v0.37.2, which hands the request on.
var errNotServed = errors.New("no custom resource is at this path")

// serveResource serves a request about objects. An error is to be told to the client,
// who has had no answer yet.
func (h *Handler) serveResource(w http.ResponseWriter, r *http.Request, t target) error {
	if review, ok := views.Review(t.gvr()); ok && r.Method == http.MethodPost {
		return h.serveReview(w, r, t, review)
	}
	if t.isOldBinding(r) {
		return h.serveOldBinding(w, r, t)
	}
	kind, ok := h.kind(t.gvr())
	if !ok {
		return h.unknownResource(t.gv.Group)
	}
	c := call{h: h, w: w, r: r, t: t, kind: kind}
	if c.connects() && len(r.URL.Query()["dryRun"]) > 0 {
		return badRequest("dryRun is not supported")
	}
	if serve := t.behind(); serve != nil {
		if !c.reaches(c.methods()) {
			return methodNotAllowed()
		}
		return serve(&c)
	}
	err := c.route()
	if err != nil {
		return err
	}
	if t.nowhere && (t.name != "" || r.Method == http.MethodDelete) { // Upstream: apiserver registry/generic/registry NamespaceKeyFunc, v1.37.2
		return badRequest("Namespace parameter required.")
	}
	if c.out, err = negotiateOutput(r, mediaTypesOfKubernetes(), c.allowsConversion); err != nil {
		return err
	}
	if k, ok := h.registry.Kind(kind.gvk); ok && k.Deprecated != "" {
		c.warn(k.Deprecated)
	}
	switch verb := t.verb(r); verb {
	case "get", "list":
		return c.read(verb)
	case "watch":
		return c.watch()
	case "create", "update":
		return c.write(verb)
	case "patch":
		return c.patch()
	case "delete", "deletecollection":
		return c.remove(verb)
	}
	return methodNotAllowed()
}

// unknownResource returns the answer to a request for a resource that a group does not have.
func (h *Handler) unknownResource(group string) error {
	if h.inRouter(group) {
		return unknownPath()
	}
	return errNotServed
}

func methodNotAllowed() error {
	return statusError(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, "the server does not allow this method on the requested resource")
}

// unknownPath returns the answer to a path of a known group that no resource has.
func unknownPath() error {
	err := apierrors.NewGenericServerResponse(http.StatusNotFound, "", schema.GroupResource{}, "", "", 0, false)
	err.ErrStatus.Details = &metav1.StatusDetails{}
	return err
}

// fail tells the client of an error, in the form of a Status.
// Upstream: apiserver handlers/responsewriters ErrorNegotiated and ErrorToAPIStatus, and handlers/finisher for a request whose time is over, v1.37.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	var known apierrors.APIStatus
	switch {
	case errors.As(err, &known):
	case errors.Is(err, context.DeadlineExceeded):
		known = apierrors.NewTimeoutError(fmt.Sprintf("request did not complete within requested timeout - %s", err), 0)
	default:
		known = apierrors.NewInternalError(err)
	}
	status := known.Status()
	if status.Code == 0 {
		status.Code = http.StatusInternalServerError
	}
	out, negotiated := negotiateOutput(r, mediaTypesOfKubernetes(), allowsNothing)
	if negotiated != nil {
		out = output{info: mediaTypesOfKubernetes()[0]}
	}
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	status.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Status"})
	out.send(w, r, int(status.Code), &status)
}
