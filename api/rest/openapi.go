package rest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/api/rest/internal/openapi"
)

// serveOpenAPI serves /openapi/v3, which lists the documents, and the documents: one for
// each group and version.
func (h *Handler) serveOpenAPI(w http.ResponseWriter, r *http.Request, path string) {
	if path == "" {
		paths := map[string]any{}
		for _, list := range h.server.Resources() {
			at := documentPath(list.GroupVersion)
			paths[at] = map[string]string{"serverRelativeURL": fmt.Sprintf("/openapi/v3/%s?hash=%s", at, h.hash(list))}
		}
		sendJSON(w, map[string]any{"paths": paths})
		return
	}
	for _, list := range h.server.Resources() {
		if documentPath(list.GroupVersion) == path {
			sendJSON(w, openapi.Document(gvOf(list), h.server.Version().GitVersion, h.described(list)))
			return
		}
	}
	w.WriteHeader(http.StatusNotFound) // without a word. Upstream: kube-openapi handler3 HandleGroupVersion
}

// documentPath returns the path of the document of a group and version.
func documentPath(gv string) string {
	if gv == "v1" {
		return "api/v1"
	}
	return "apis/" + gv
}

// hash changes when a document does, so that clients may keep it. It covers what a document
// is made from: the resources, and the schemas of those that are custom ones. The Go types
// of the others do not change.
func (h *Handler) hash(lists ...*metav1.APIResourceList) string {
	made := []any{lists}
	for _, list := range lists {
		for _, r := range h.described(list) {
			made = append(made, r.Schema)
		}
	}
	text, err := json.Marshal(made)
	if err != nil {
		panic(err) // it holds nothing but JSON
	}
	return fmt.Sprintf("%X", sha256.Sum256(text))
}

// gvOf returns the group and version of a list of resources.
func gvOf(list *metav1.APIResourceList) schema.GroupVersion {
	gv, err := schema.ParseGroupVersion(list.GroupVersion)
	if err != nil {
		panic(err) // the registry made it
	}
	return gv
}

// described returns the resources of a group and version, as their document needs them.
func (h *Handler) described(list *metav1.APIResourceList) []openapi.Resource {
	gv := gvOf(list)
	var resources []openapi.Resource
	for _, res := range list.APIResources {
		if name, sub, ok := strings.Cut(res.Name, "/"); ok {
			if n := len(resources) - 1; n >= 0 && resources[n].GVR.Resource == name {
				resources[n].Subresources = append(resources[n].Subresources, sub)
			}
			continue
		}
		resources = append(resources, openapi.Resource{
			GVR: gv.WithResource(res.Name), GVK: gv.WithKind(res.Kind), Namespaced: res.Namespaced, Type: h.goType(gv.WithKind(res.Kind)),
			Schema: h.schema(gv.WithKind(res.Kind)),
		})
	}
	return resources
}

// schema returns the schema of a custom resource, nil for other kinds.
func (h *Handler) schema(gvk schema.GroupVersionKind) openapi.Object {
	k, ok := h.registry.Kind(gvk)
	if !ok || k.Schema == nil {
		return nil
	}
	return k.Schema
}

// goType returns the Go struct of a kind, nil if its objects are maps.
func (h *Handler) goType(gvk schema.GroupVersionKind) reflect.Type {
	obj, err := h.registry.New(gvk)
	if _, unstructured := obj.(runtime.Unstructured); err != nil || unstructured {
		return nil
	}
	return reflect.TypeOf(obj).Elem()
}

// sendJSON sends a document that is not an object of the API.
func sendJSON(w http.ResponseWriter, document any) {
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	_ = json.NewEncoder(w).Encode(document) // the client has gone
}
