package engine

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/control"
)

// objects are an actor's calls for objects of any kind.
type objects struct {
	client *fake.Clientset
	server *api.Server
}

var _ control.Objects = objects{}

func (o objects) Get(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (control.Object, error) {
	return o.one(ctx, api.Request{Verb: "get", Resource: resource, Namespace: namespace, Name: name})
}

func (o objects) List(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]control.Object, error) {
	list, err := o.client.Do(ctx, api.Request{Verb: "list", Resource: resource, Namespace: namespace})
	if err != nil {
		return nil, err
	}
	var all []control.Object
	err = meta.EachListItem(list, func(item runtime.Object) error {
		typed, ok := item.(control.Object)
		if !ok {
			return fmt.Errorf("list %s: %T has no metadata", resource.Resource, item)
		}
		all = append(all, typed)
		return nil
	})
	return all, err
}

func (o objects) DeleteCollection(ctx context.Context, resource schema.GroupVersionResource, namespace string, options metav1.DeleteOptions) error {
	_, err := o.client.Do(ctx, api.Request{Verb: "deletecollection", Resource: resource, Namespace: namespace, Delete: options})
	return err
}

// Resources returns the kinds of the registry. It is no step, since upstream's controllers ask a cache
// of discovery.
func (o objects) Resources(context.Context) ([]metav1.APIResource, error) {
	return append(o.server.Registry().Preferred(), o.server.StoredInOlderVersions()...), nil
}

func (o objects) Delete(ctx context.Context, resource schema.GroupVersionResource, namespace, name string, options metav1.DeleteOptions) error {
	_, err := o.client.Do(ctx, api.Request{Verb: "delete", Resource: resource, Namespace: namespace, Name: name, Delete: options})
	return err
}

func (o objects) Create(ctx context.Context, resource schema.GroupVersionResource, obj control.Object) (control.Object, error) {
	return o.one(ctx, api.Request{Verb: "create", Resource: resource, Namespace: obj.GetNamespace(), Name: obj.GetName(), Object: obj})
}

func (o objects) Update(ctx context.Context, resource schema.GroupVersionResource, obj control.Object, subresource string) (control.Object, error) {
	return o.one(ctx, api.Request{Verb: "update", Resource: resource, Namespace: obj.GetNamespace(), Name: obj.GetName(), Object: obj, Subresource: subresource})
}

func (o objects) Patch(ctx context.Context, resource schema.GroupVersionResource, namespace, name string, how types.PatchType, patch []byte,
	subresource string) (control.Object, error) {
	return o.one(ctx, api.Request{Verb: "patch", Resource: resource, Namespace: namespace, Name: name, PatchType: how, Patch: patch, Subresource: subresource})
}

// one returns a request whose answer is an object.
func (o objects) one(ctx context.Context, req api.Request) (control.Object, error) {
	obj, err := o.client.Do(ctx, req)
	if err != nil {
		return nil, err
	}
	typed, ok := obj.(control.Object)
	if !ok {
		return nil, fmt.Errorf("%s %s %s: %T has no metadata", req.Verb, req.Resource.Resource, req.Name, obj)
	}
	return typed, nil
}
