package garbagecollector

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/control"
)

// followCustomKinds follows the kinds of CustomResourceDefinitions, present and future. The objects of a kind end
// with the kind; if it is defined again, its cache lists them again.
// Upstream: garbagecollector.go Sync, v1.37, which asks discovery every 30 s.
func (c *controller) followCustomKinds() {
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	cache := control.NewCacheAtOnce[control.Object](c.env, definitions)
	cache.Handle(control.Handler[control.Object]{
		Add:    func(definition control.Object) { c.learn(cache, definition.GetName()) },
		Update: func(_, definition control.Object) { c.learn(cache, definition.GetName()) },
	})
	for _, name := range cache.Keys() {
		c.learn(cache, name)
	}
}

// learn follows the kind of a definition as soon as discovery has it. The name of a definition is resource and
// group, "backups.example.com".
func (c *controller) learn(definitions *control.Cache[control.Object], name string) {
	if c.learning[name] {
		return
	}
	c.learning[name] = true
	c.env.Go("custom kind "+name, func(ctx context.Context) {
		defer delete(c.learning, name)
		known := func(ctx context.Context) (bool, error) {
			_, there := definitions.Get(name)
			return !there || c.followResource(ctx, name), nil
		}
		if done, _ := known(ctx); !done {
			_ = c.env.PollBackoff(ctx, control.Backoff{First: time.Second, Factor: 2, Max: 30 * time.Second}, known)
		}
	})
}

// followResource follows a resource, and reports whether it exists.
func (c *controller) followResource(ctx context.Context, name string) bool {
	resources, _ := c.env.Objects().Resources(ctx)
	for _, r := range resources {
		if (schema.GroupResource{Group: r.Group, Resource: r.Name}).String() == name {
			c.follow(r, true)
			return true
		}
	}
	return false
}

// kindOf returns the kind that a reference to an owner means. For a custom kind any version that the server has will
// do: the objects are the same in all of them.
func (c *controller) kindOf(ctx context.Context, ref metav1.OwnerReference) (*kind, bool) {
	k, found := c.kinds[idOf(ref)]
	if !found || k.apiVersion() == ref.APIVersion {
		return k, found
	}
	group, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil || !k.custom {
		return nil, false
	}
	_, err = k.objects.List(ctx, group.WithResource(k.resource.Resource), "")
	return k, err == nil
}

// idOf returns the id of the kind that a reference names.
func idOf(ref metav1.OwnerReference) string {
	group, _ := schema.ParseGroupVersion(ref.APIVersion) // no kind has the id of one that cannot be parsed
	return schema.GroupKind{Group: group.Group, Kind: ref.Kind}.String()
}
