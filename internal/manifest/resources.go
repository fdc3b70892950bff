package manifest

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kinds are the kinds of objects that a server has: a *registry.Registry.
type Kinds interface {
	// Find is the resource that a user calls by any of its names.
	Find(word string) (metav1.APIResource, error)
	// OfKind is the resource of a kind, in exactly that version.
	OfKind(gvk schema.GroupVersionKind) (metav1.APIResource, bool)
	// All are all resources, in order of group, kind and version, the preferred version of
	// each kind first.
	All() []metav1.APIResource
	// New is an empty object of a kind.
	New(gvk schema.GroupVersionKind) (runtime.Object, error)
}

// Resource is a kind of object the API serves.
type Resource struct {
	schema.GroupVersionKind
	// Plural is the resource's name in the API, for example "persistentvolumes".
	Plural string
	// Namespaced says whether its objects live in a namespace.
	Namespaced bool
}

func resourceOf(r metav1.APIResource) Resource {
	return Resource{
		GroupVersionKind: schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind},
		Plural:           r.Name, Namespaced: r.Namespaced,
	}
}

// GroupVersionResource returns the resource as clients address it.
func (r Resource) GroupVersionResource() schema.GroupVersionResource {
	return r.GroupVersion().WithResource(r.Plural)
}

// Qualified returns the name of the kind as kubectl prints it: "persistentvolume",
// "storageclass.storage.k8s.io".
func (r Resource) Qualified() string {
	name := strings.ToLower(r.Kind)
	if r.Group != "" {
		name += "." + r.Group
	}
	return name
}

// ResourceForKind finds the resource of a kind in exactly that version.
func ResourceForKind(kinds Kinds, gvk schema.GroupVersionKind) (Resource, bool) {
	r, ok := kinds.OfKind(gvk)
	return resourceOf(r), ok
}

// FindResource finds what a user calls by plural, singular, kind or short name,
// in any case, with or without the group behind a dot.
func FindResource(kinds Kinds, word string) (Resource, error) {
	r, err := kinds.Find(word)
	return resourceOf(r), err
}

// Plural returns a resource as the API calls it, found as FindResource does: "pv" is
// "persistentvolumes". A subresource, "pods/binding", stays.
func Plural(kinds Kinds, word string) (string, error) {
	name, sub, hasSub := strings.Cut(word, "/")
	resource, err := kinds.Find(name)
	if err != nil || !hasSub {
		return resource.Name, err
	}
	return resource.Name + "/" + sub, nil
}
