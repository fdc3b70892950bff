package snapshots

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
)

// Pointer is a pointer to one of the types.
type Pointer[T any] interface {
	*T
	control.Object
}

// Client calls the API server for objects of one type. Errors are those of the API server.
type Client[T any, P Pointer[T]] struct {
	Objects  control.Objects
	Resource schema.GroupVersionResource
}

// Get is one object; namespace is "" for contents and classes.
func (c Client[T, P]) Get(ctx context.Context, namespace, name string) (P, error) {
	is, err := c.Objects.Get(ctx, c.Resource, namespace, name)
	return decoded[T, P](c.Resource, is, err)
}

// Create makes an object, whose apiVersion and kind must be set.
func (c Client[T, P]) Create(ctx context.Context, obj P) (P, error) {
	fields, err := encode(obj)
	if err != nil {
		return nil, err
	}
	is, err := c.Objects.Create(ctx, c.Resource, fields)
	return decoded[T, P](c.Resource, is, err)
}

// Update replaces an object.
func (c Client[T, P]) Update(ctx context.Context, obj P) (P, error) { return c.update(ctx, obj, "") }

// UpdateStatus replaces the status of an object.
func (c Client[T, P]) UpdateStatus(ctx context.Context, obj P) (P, error) {
	return c.update(ctx, obj, "status")
}

func (c Client[T, P]) update(ctx context.Context, obj P, subresource string) (P, error) {
	fields, err := encode(obj)
	if err != nil {
		return nil, err
	}
	is, err := c.Objects.Update(ctx, c.Resource, fields, subresource)
	return decoded[T, P](c.Resource, is, err)
}

// Delete deletes an object.
func (c Client[T, P]) Delete(ctx context.Context, namespace, name string) error {
	return c.Objects.Delete(ctx, c.Resource, namespace, name, metav1.DeleteOptions{})
}

// Op is one step of a JSON patch.
type Op struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// Patch changes an object, PatchStatus its status, by steps of a JSON patch.
func (c Client[T, P]) Patch(ctx context.Context, obj P, ops ...Op) (P, error) {
	return c.patch(ctx, obj, "", ops)
}

// PatchStatus is Patch for the status.
func (c Client[T, P]) PatchStatus(ctx context.Context, obj P, ops ...Op) (P, error) {
	return c.patch(ctx, obj, "status", ops)
}

func (c Client[T, P]) patch(ctx context.Context, obj P, subresource string, ops []Op) (P, error) {
	patch, err := json.Marshal(ops)
	if err != nil {
		return nil, err
	}
	is, err := c.Objects.Patch(ctx, c.Resource, obj.GetNamespace(), obj.GetName(), types.JSONPatchType, patch, subresource)
	return decoded[T, P](c.Resource, is, err)
}

// decoded is an answer as the type, in the version of the resource: a watch gives objects in the version in which they
// are stored.
func decoded[T any, P Pointer[T]](resource schema.GroupVersionResource, obj control.Object, err error) (P, error) {
	if err != nil {
		return nil, err
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if u, ok := obj.(*unstructured.Unstructured); ok {
		fields, err = u.Object, nil
	}
	if err != nil {
		return nil, err
	}
	typed := P(new(T))
	err = runtime.DefaultUnstructuredConverter.FromUnstructured(fields, typed)
	typed.GetObjectKind().SetGroupVersionKind(resource.GroupVersion().WithKind(typed.GetObjectKind().GroupVersionKind().Kind))
	return typed, err
}

func encode(obj control.Object) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, err
	}
	if created := obj.GetCreationTimestamp(); created.IsZero() {
		unstructured.RemoveNestedField(fields, "metadata", "creationTimestamp") // it is null
	}
	return &unstructured.Unstructured{Object: fields}, nil
}
