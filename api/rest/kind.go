package rest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// kind is the kind of a request's object.
type kind struct {
	metav1.APIResource
	gvk schema.GroupVersionKind
	// typed: objects are Go structs, not maps.
	typed bool
	// protobuf: objects can be written as protobuf.
	protobuf bool
}

// kind returns the kind of a resource.
func (h *Handler) kind(gvr schema.GroupVersionResource) (kind, bool) {
	resource, ok := h.registry.Resource(gvr)
	if !ok {
		return kind{}, false
	}
	k := kind{APIResource: resource, gvk: gvr.GroupVersion().WithKind(resource.Kind)}
	if entry, ok := h.registry.Kind(k.gvk); ok && entry.OnRequest {
		return kind{}, false
	}
	k.typed, k.protobuf = h.registry.Forms(k.gvk)
	return k, true
}

// bodyOf returns the kind of object that a request sends and gets: of some subresources it is
// another.
func (c *call) bodyOf() schema.GroupVersionKind {
	if c.t.sub == "" {
		return c.kind.gvk
	}
	if sub, ok := c.h.registry.Subresource(c.t.gvr(), c.t.sub); ok {
		return schema.GroupVersionKind{Group: sub.Group, Version: sub.Version, Kind: sub.Kind}
	}
	return c.kind.gvk
}

// mediaTypes returns the forms that objects of the kind can have.
func (k *kind) mediaTypes() []runtime.SerializerInfo {
	all := mediaTypesOfKubernetes()
	if k.protobuf {
		return all
	}
	types := make([]runtime.SerializerInfo, 0, len(all))
	for _, info := range all {
		if info.MediaType != runtime.ContentTypeProtobuf {
			types = append(types, info)
		}
	}
	return types
}

// mediaTypesOfKubernetes returns the forms of the kinds of Kubernetes itself: JSON, YAML and
// protobuf.
func mediaTypesOfKubernetes() []runtime.SerializerInfo { return scheme.Codecs.SupportedMediaTypes() }
