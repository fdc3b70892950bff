package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Ref is a resource and the name of an object of it.
type Ref struct {
	Resource  Resource
	Namespace string // empty for cluster-scoped objects
	Name      string
}

// NotFound returns the API server's answer when there is no such object.
func (r Ref) NotFound() error {
	return apierrors.NewNotFound(schema.GroupResource{Group: r.Resource.Group, Resource: r.Resource.Plural}, r.Name)
}

// Qualified returns the object as kubectl reports it: "persistentvolumeclaim/data",
// "storageclass.storage.k8s.io/fast".
func (r Ref) Qualified() string { return r.Resource.Qualified() + "/" + r.Name }

// String returns the reference in full: "persistentvolumeclaim/default/data".
func (r Ref) String() string {
	if r.Resource.Namespaced {
		return r.Resource.Qualified() + "/" + r.Namespace + "/" + r.Name
	}
	return r.Qualified()
}

// ParseRef reads "kind/name" or "kind/namespace/name". The kind is any name that
// FindResource knows. A name alone is in the namespace given, or in the default one if
// that is empty.
func ParseRef(kinds Kinds, namespace, text string) (Ref, error) {
	kind, rest, ok := strings.Cut(text, "/")
	if !ok || kind == "" {
		return Ref{}, fmt.Errorf("%q does not name an object; expected kind/name or kind/namespace/name, for example pvc/data", text)
	}
	resource, err := FindResource(kinds, kind)
	if err != nil {
		return Ref{}, err
	}
	return resource.ref(kind, namespace, text, rest)
}

// ParseRefOf reads a reference to an object of one kind, which need not be said: "name",
// "namespace/name", "kind/name" or "kind/namespace/name". Where the first word could be the
// kind or a namespace, it is the kind. said is the kind as FindResource knows it.
func ParseRefOf(kinds Kinds, said, text string) (Ref, error) {
	resource, err := FindResource(kinds, said)
	if err != nil {
		return Ref{}, err
	}
	if kind, rest, ok := strings.Cut(text, "/"); ok {
		named, err := FindResource(kinds, kind)
		switch long := strings.Contains(rest, "/"); {
		case err == nil && named == resource:
			return resource.ref(kind, "", text, rest)
		case err == nil && (long || !resource.Namespaced):
			return Ref{}, fmt.Errorf("%q names a %s, not a %s; expected %s", text, named.Kind, resource.Kind, resource.forms(said))
		}
	}
	return resource.ref(said, "", text, text)
}

// ref reads "name" or "namespace/name", what is left of a text behind the kind.
func (r Resource) ref(kind, namespace, text, rest string) (Ref, error) {
	parts := strings.Split(rest, "/")
	switch {
	case slices.Contains(parts, "") || len(parts) > 2:
		return Ref{}, fmt.Errorf("%q does not name a %s; expected %s", text, r.Kind, r.forms(kind))
	case !r.Namespaced && len(parts) == 2:
		return Ref{}, fmt.Errorf("%q does not name a %s, which has no namespace; expected %s/%s", text, r.Kind, kind, parts[1])
	case !r.Namespaced:
		return Ref{Resource: r, Name: rest}, nil
	case len(parts) == 2:
		return Ref{Resource: r, Namespace: parts[0], Name: parts[1]}, nil
	}
	return Ref{Resource: r, Namespace: cmp.Or(namespace, DefaultNamespace), Name: rest}, nil
}

// forms returns the ways to write a reference to an object of it.
func (r Resource) forms(kind string) string {
	if !r.Namespaced {
		return kind + "/name"
	}
	return kind + "/name or " + kind + "/namespace/name"
}
