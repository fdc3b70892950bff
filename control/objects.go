package control

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Objects calls the API server for objects of any kind, also of kinds for which the client
// has no methods. Upstream's controllers use client-go's metadata client for this. The
// API server's errors are returned unchanged.
type Objects interface {
	// Get is one object; namespace is "" for kinds without one.
	Get(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (Object, error)
	// List is all objects of a namespace, in order of name; of all namespaces if it is "".
	List(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]Object, error)
	// Delete deletes one object.
	Delete(ctx context.Context, resource schema.GroupVersionResource, namespace, name string, options metav1.DeleteOptions) error
	// DeleteCollection deletes all objects of a namespace.
	DeleteCollection(ctx context.Context, resource schema.GroupVersionResource, namespace string, options metav1.DeleteOptions) error
	// Create makes an object, which must not be changed any more afterwards, and returns it as it is then.
	Create(ctx context.Context, resource schema.GroupVersionResource, obj Object) (Object, error)
	// Update replaces an object, or its subresource, for example "status". The object must not
	// be changed any more afterwards. It returns the object as it is then.
	Update(ctx context.Context, resource schema.GroupVersionResource, obj Object, subresource string) (Object, error)
	// Patch changes one object, or its subresource, and returns it as it is then.
	Patch(ctx context.Context, resource schema.GroupVersionResource, namespace, name string, how types.PatchType, patch []byte, subresource string) (Object, error)
	// Resources are the resources of the API, each in its preferred version, also those of
	// custom kinds: what discovery tells. With an error come those that could be found. In the
	// simulation, where versions of a built-in kind do not share their objects, a resource is
	// also given in each other version that has some.
	Resources(ctx context.Context) ([]metav1.APIResource, error)
}
