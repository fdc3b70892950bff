package rest

import (
	"net/http"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// route checks that there is something at the path of the request, that it has the method, and, for
// the kinds of Kubernetes itself, that the forms of the body and of the answer are known. The order
// is that of upstream's router, which does not serve custom resources.
// Upstream: apiserver endpoints APIInstaller.registerResourceHandlers, go-restful CurlyRouter, v1.37.
func (c *call) route() error {
	methods := c.methods()
	switch {
	case len(methods) == 0 && !c.kind.typed && c.t.sub != "" && c.t.name != "" && c.t.rest == "":
		return apierrors.NewNotFound(c.t.gvr().GroupResource(), c.t.name)
	case len(methods) == 0 && c.kind.typed:
		return unknownPath()
	case len(methods) == 0, c.needsNamespace(methods):
		return errNotServed
	case !c.kind.typed && c.r.Method == http.MethodPost && c.t.name != "" && c.t.sub == "": // a creation, whatever the name
		c.t.name = ""
		return nil
	case !c.kind.typed && c.r.Method == http.MethodHead && slices.Contains(methods, http.MethodGet): // no router is in between
		return nil
	case !slices.Contains(methods, c.r.Method) && !c.kind.typed: // Upstream: apiextensions-apiserver crdHandler.serveResource, v0.37.2
		return apierrors.NewMethodNotSupported(c.t.gvr().GroupResource(), c.t.verb(c.r))
	case !slices.Contains(methods, c.r.Method):
		return methodNotAllowed()
	case !c.kind.typed:
		return nil
	}
	if c.r.Method == http.MethodPatch && !slices.Contains(c.patchTypes(), c.contentType()) {
		return statusError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, "415: Unsupported Media Type")
	}
	return checkAccept(c.r, c.kind.mediaTypes(), c.t.name == "" && c.r.Method == http.MethodGet || c.t.watch)
}

// needsNamespace reports whether a request for custom resources of all namespaces has a method that only those of one namespace have.
func (c *call) needsNamespace(methods []string) bool {
	return !c.kind.typed && c.kind.Namespaced && c.t.namespace == "" && !slices.Contains(methods, c.r.Method) && c.r.Method != http.MethodHead
}

// contentType returns the media type of the body without its parameters.
func (c *call) contentType() string {
	contentType, _, _ := strings.Cut(c.r.Header.Get("Content-Type"), ";")
	return strings.TrimSpace(contentType)
}

// methods returns the methods that the path has, none if there is nothing at the path.
func (c *call) methods() []string {
	t := &c.t
	scoped := c.kind.Namespaced && (t.namespace != "" || t.nowhere)
	switch {
	case t.rest != "" && t.sub != "proxy", !c.kind.Namespaced && (t.namespace != "" || t.nowhere), c.kind.Namespaced && !scoped && t.name != "":
		return nil
	case t.watch:
		return c.watchMethods()
	case t.sub != "":
		return c.partMethods()
	case t.name != "":
		return methodsOf(c.kind.Verbs, "get", "update", "patch", "delete")
	case scoped || !c.kind.Namespaced:
		return methodsOf(c.kind.Verbs, "list", "create", "deletecollection")
	}
	return methodsOf(c.kind.Verbs, "list") // all namespaces
}

// watchMethods returns the methods of a path of the old form of watches.
func (c *call) watchMethods() []string {
	if c.t.sub != "" {
		return nil
	}
	return methodsOf(c.kind.Verbs, "watch")
}

// partMethods returns the methods of a subresource.
func (c *call) partMethods() []string {
	sub, ok := c.h.registry.Subresource(c.t.gvr(), c.t.sub)
	if !ok || c.t.name == "" {
		return nil
	}
	return methodsOf(sub.Verbs, "get", "create", "update", "patch", "delete")
}

// methodOf holds the method of HTTP that each verb has.
var methodOf = map[string]string{
	"get": http.MethodGet, "list": http.MethodGet, "watch": http.MethodGet, "create": http.MethodPost, "update": http.MethodPut,
	"patch": http.MethodPatch, "delete": http.MethodDelete, "deletecollection": http.MethodDelete,
}

// methodsOf returns the HTTP methods of the verbs that are among known.
func methodsOf(known metav1.Verbs, verbs ...string) []string {
	var methods []string
	for _, verb := range verbs {
		if slices.Contains(known, verb) {
			methods = append(methods, methodOf[verb])
		}
	}
	return methods
}

// checkAccept refuses a request whose answer can have none of the forms that the client accepts.
// Parameters of the forms do not count here. streams: the answer may be a watch.
// Upstream: go-restful Route.matchesAccept, v3.
func checkAccept(r *http.Request, types []runtime.SerializerInfo, streams bool) error {
	accept := r.Header.Get("Accept")
	if accept == "" {
		return nil
	}
	for clause := range strings.SplitSeq(accept, ",") {
		mediaType, _, _ := strings.Cut(clause, ";")
		mediaType = strings.TrimSpace(mediaType)
		if mediaType == "*/*" || slices.Contains(strings.Split(mediaTypes(types), ", "), mediaType) {
			return nil
		}
	}
	offered := mediaTypes(types)
	if streams {
		for _, info := range types {
			if info.StreamSerializer != nil && info.MediaType != "application/yaml" {
				offered += ", " + info.MediaType + ";stream=watch"
			}
		}
	}
	return notAcceptable("406: Not Acceptable\n\nAvailable representations: %s", offered)
}

// inRouter reports whether a group has kinds of Kubernetes itself: below such a group an unknown path gets
// a Status, and elsewhere a text.
func (h *Handler) inRouter(group string) bool {
	for _, resource := range h.registry.All() {
		if resource.Group == group {
			typed, _ := h.registry.Forms(schema.GroupVersionKind{Group: resource.Group, Version: resource.Version, Kind: resource.Kind})
			return typed
		}
	}
	return group == authenticationv1.GroupName || group == authorizationv1.GroupName
}
