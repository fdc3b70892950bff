package rest

import (
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/api"
)

// target is the resource or object in the path of a request.
type target struct {
	gv                             schema.GroupVersion
	namespace, resource, name, sub string
	// rest is the path after the subresource: the path of a proxy.
	rest string
	// watch: the path has the old form with /watch/ in it.
	watch bool
	// nowhere: the path has an empty namespace: /namespaces//pods.
	nowhere bool
}

func (t *target) gvr() schema.GroupVersionResource { return t.gv.WithResource(t.resource) }

// parsePath reads the part of a path after /api or /apis, which begins with the
// version of the core group or with a group and its version. ok is false if it names
// no resource.
// Upstream: apiserver endpoints/request RequestInfoFactory.NewRequestInfo, v1.37.
func parsePath(legacy bool, path string) (t target, ok bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if !legacy {
		if len(parts) < 2 {
			return t, false
		}
		t.gv.Group, parts = parts[0], parts[1:]
	}
	t.gv.Version, parts = parts[0], parts[1:]
	if t.gv.Version == "" || !legacy && t.gv.Group == "" {
		return t, false
	}
	if len(parts) > 0 && parts[0] == "watch" {
		t.watch, parts = true, parts[1:]
	}
	if len(parts) > 1 && parts[0] == "namespaces" {
		// The namespace of what follows, unless it is a subresource of the namespace itself.
		if len(parts) > 2 && !namespaceSubresources[parts[2]] {
			t.namespace, t.nowhere, parts = parts[1], parts[1] == "", parts[2:]
		}
	}
	if len(parts) == 0 || slices.Contains(parts, "") { // a slash after a slash
		return t, false
	}
	t.resource = parts[0]
	if len(parts) > 1 {
		t.name = parts[1]
	}
	if len(parts) > 2 {
		t.sub = parts[2]
	}
	if len(parts) > 3 {
		t.rest = strings.Join(parts[3:], "/")
	}
	return t, true
}

// Upstream: apiserver endpoints/request namespaceSubresources, v1.37.
var namespaceSubresources = map[string]bool{"status": true, "finalize": true}

// verb returns what a request wants of its target, in the words of an audit log; "" is a
// method that no resource has.
func (t *target) verb(r *http.Request) string {
	switch r.Method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if t.name == "" {
			return "deletecollection"
		}
		return "delete"
	case http.MethodGet, http.MethodHead:
		switch {
		case t.watch || t.name == "" && isWatch(r):
			return "watch"
		case t.name == "":
			return "list"
		}
		return "get"
	}
	return ""
}

// isWatch reports whether the parameters ask for a watch.
func isWatch(r *http.Request) bool {
	return r.URL.RawQuery != "" && isTrue(r.URL.Query()["watch"])
}

// parameter returns the first value of a parameter, "" if there is none.
func parameter(r *http.Request, name string) string {
	if r.URL.RawQuery == "" {
		return ""
	}
	return r.URL.Query().Get(name)
}

// isTrue reads a parameter of type bool as upstream does: only "false" and "0" deny.
// Upstream: apimachinery runtime Convert_Slice_string_To_bool, v1.37.
func isTrue(values []string) bool {
	if len(values) == 0 {
		return false
	}
	return values[0] != "0" && !strings.EqualFold(values[0], "false")
}

// RequestOf returns what an HTTP request asks for, in the server's words and without its body:
// verb, resource, subresource, namespace and name. ok is false if its path names no
// resource.
func RequestOf(r *http.Request) (req api.Request, ok bool) {
	path, legacy := strings.CutPrefix(r.URL.Path, "/api/")
	if !legacy {
		if path, ok = strings.CutPrefix(r.URL.Path, "/apis/"); !ok {
			return req, false
		}
	}
	t, ok := parsePath(legacy, path)
	if !ok {
		return req, false
	}
	return api.Request{Verb: t.verb(r), Resource: t.gvr(), Subresource: t.sub, Namespace: t.namespace, Name: t.name}, true
}
