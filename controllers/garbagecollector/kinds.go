package garbagecollector

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
)

// kind is one kind of objects, with its cache and the way to call the API for it.
type kind struct {
	id         string // "Pod", "StatefulSet.apps"
	name       string // "Pod"
	custom     bool   // defined by a CustomResourceDefinition
	namespaced bool
	resource   schema.GroupVersionResource
	objects    control.Objects
	cache      *control.Cache[control.Object]
}

// follow adds a kind. If a kind comes in two versions, the first counts.
func (c *controller) follow(r metav1.APIResource, custom bool) {
	id := schema.GroupKind{Group: r.Group, Kind: r.Kind}.String()
	if _, known := c.kinds[id]; known {
		return
	}
	k := &kind{
		id: id, name: r.Kind, custom: custom, namespaced: r.Namespaced, objects: c.objects,
		resource: schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Name},
	}
	k.cache = control.NewCache[control.Object](c.env, k.resource)
	c.kinds[id] = k
	k.cache.Handle(control.Handler[control.Object]{
		Add:    func(obj control.Object) { c.added(k, obj) },
		Update: func(old, obj control.Object) { c.updated(k, old, obj) },
		Delete: func(obj control.Object) { c.deleted(k, obj) },
	})
}

// apiVersion returns the version of the kind in which it is followed, as objects write it.
func (k *kind) apiVersion() string { return k.resource.GroupVersion().String() }

// in returns the namespace of an owner that an object in this namespace names: "" for a cluster-scoped kind.
func (k *kind) in(namespace string) string {
	if k.namespaced {
		return namespace
	}
	return ""
}

func (k *kind) get(ctx context.Context, namespace, name string) (control.Object, error) {
	return k.objects.Get(ctx, k.resource, k.in(namespace), name)
}

func (k *kind) delete(ctx context.Context, namespace, name string, options metav1.DeleteOptions) error {
	return k.objects.Delete(ctx, k.resource, k.in(namespace), name, options)
}

func (k *kind) patch(ctx context.Context, namespace, name string, how types.PatchType, patch []byte) error {
	_, err := k.objects.Patch(ctx, k.resource, k.in(namespace), name, how, patch, "")
	return err
}
