package snapshots

import (
	"context"
	"encoding/json"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
)

// Object is a pointer to one of the types, for example *snapshotv1.VolumeSnapshot.
type Object interface {
	control.Object
	comparable
}

// Client calls the API server for objects of one type. It returns the API server's errors.
type Client[P Object] struct {
	Objects  control.Objects
	Resource schema.GroupVersionResource
}

// Get returns one object; namespace is "" for contents and classes.
func (c Client[P]) Get(ctx context.Context, namespace, name string) (P, error) {
	answer, err := c.Objects.Get(ctx, c.Resource, namespace, name)
	return decoded[P](c.Resource, answer, err)
}

// Create creates an object, whose apiVersion and kind must be set.
func (c Client[P]) Create(ctx context.Context, obj P) (P, error) {
	var none P
	fields, err := encode(obj)
	if err != nil {
		return none, err
	}
	answer, err := c.Objects.Create(ctx, c.Resource, fields)
	return decoded[P](c.Resource, answer, err)
}

// Update replaces an object.
func (c Client[P]) Update(ctx context.Context, obj P) (P, error) { return c.update(ctx, obj, "") }

// UpdateStatus replaces the status of an object.
func (c Client[P]) UpdateStatus(ctx context.Context, obj P) (P, error) {
	return c.update(ctx, obj, "status")
}

func (c Client[P]) update(ctx context.Context, obj P, subresource string) (P, error) {
	var none P
	fields, err := encode(obj)
	if err != nil {
		return none, err
	}
	answer, err := c.Objects.Update(ctx, c.Resource, fields, subresource)
	return decoded[P](c.Resource, answer, err)
}

// Delete deletes an object.
func (c Client[P]) Delete(ctx context.Context, namespace, name string) error {
	return c.Objects.Delete(ctx, c.Resource, namespace, name, metav1.DeleteOptions{})
}

// Op is one step of a JSON patch.
type Op struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// Patch changes an object by a JSON patch.
func (c Client[P]) Patch(ctx context.Context, obj P, ops ...Op) (P, error) {
	return c.patch(ctx, obj, "", ops)
}

// PatchStatus changes the status of an object by a JSON patch.
func (c Client[P]) PatchStatus(ctx context.Context, obj P, ops ...Op) (P, error) {
	return c.patch(ctx, obj, "status", ops)
}

func (c Client[P]) patch(ctx context.Context, obj P, subresource string, ops []Op) (P, error) {
	var none P
	patch, err := json.Marshal(ops)
	if err != nil {
		return none, err
	}
	answer, err := c.Objects.Patch(ctx, c.Resource, obj.GetNamespace(), obj.GetName(), types.JSONPatchType, patch, subresource)
	return decoded[P](c.Resource, answer, err)
}

// decoded converts an answer to P and gives it the version of the resource: a watch delivers objects in the version in
// which they are stored.
func decoded[P Object](resource schema.GroupVersionResource, obj control.Object, err error) (P, error) {
	var none P
	if err != nil {
		return none, err
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if u, ok := obj.(*unstructured.Unstructured); ok {
		fields, err = u.Object, nil
	}
	if err != nil {
		return none, err
	}
	typed := reflect.New(reflect.TypeFor[P]().Elem()).Interface().(P)
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
