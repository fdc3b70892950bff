package scheduler

import (
	"fmt"

	"github.com/storagesim/storagesim/control"
)

// assumeCache is a cache with an overlay: what this scheduler has decided about
// an object and not yet seen in the cache. An entry is valid only for the
// resource version it was based on. As soon as the cache hears anything newer
// of the object the entry is gone, whatever the news.
// Upstream: scheduler/util/assumecache, passive as since v1.35.
type assumeCache[T control.Object] struct {
	resource string // "persistentvolumes", for errors
	api      *control.Cache[T]
	overlay  map[string]T
	// put and remove are called with every change of the objects that Get returns.
	put, remove func(T)
}

func newAssumeCache[T control.Object](resource string, api *control.Cache[T]) *assumeCache[T] {
	c := &assumeCache[T]{resource: resource, api: api, overlay: map[string]T{}, put: func(T) {}, remove: func(T) {}}
	c.api.Handle(control.Handler[T]{
		Add: func(obj T) { c.put(obj) },
		Update: func(_, obj T) {
			c.drop(obj)
			c.put(c.latest(obj))
		},
		Delete: func(obj T) {
			delete(c.overlay, control.Key(obj))
			c.remove(obj)
		},
	})
	return c
}

// follow has put called for every object that there is, and from now on put or
// remove for every change, assumed ones included.
func (c *assumeCache[T]) follow(put, remove func(T)) {
	c.put, c.remove = put, remove
	for obj := range c.api.All() {
		put(c.latest(obj))
	}
}

// drop forgets what was assumed of an older version.
func (c *assumeCache[T]) drop(obj T) {
	if assumed, ok := c.overlay[control.Key(obj)]; ok && assumed.GetResourceVersion() != obj.GetResourceVersion() {
		delete(c.overlay, control.Key(obj))
	}
}

// Get returns the object as assumed, else as the cache has it.
func (c *assumeCache[T]) Get(key string) (T, bool) {
	obj, ok := c.api.Get(key)
	if !ok {
		return obj, false
	}
	return c.latest(obj), true
}

// GetAPIObj returns the object as the cache has it, whatever is assumed.
func (c *assumeCache[T]) GetAPIObj(key string) (T, error) {
	obj, ok := c.api.Get(key)
	if !ok {
		return obj, notFound(c.resource, key)
	}
	return obj, nil
}

func (c *assumeCache[T]) latest(obj T) T {
	if assumed, ok := c.overlay[control.Key(obj)]; ok && assumed.GetResourceVersion() == obj.GetResourceVersion() {
		return assumed
	}
	return obj
}

// ByIndex returns the objects under an index of the cache, as assumed. Assuming must
// not change what the index is made of.
func (c *assumeCache[T]) ByIndex(name, value string) []T {
	list := c.api.ByIndex(name, value)
	for i, obj := range list {
		list[i] = c.latest(obj)
	}
	return list
}

// Assume lays obj over the cached object. It must be based on the version the
// cache has; otherwise the decision was about something else, and it is an error.
func (c *assumeCache[T]) Assume(obj T) error {
	key := control.Key(obj)
	cached, ok := c.api.Get(key)
	if !ok {
		return notFound(c.resource, key)
	}
	if cached.GetResourceVersion() != obj.GetResourceVersion() {
		return fmt.Errorf("%q is out of sync (stored: %s, assume: %s)", key, cached.GetResourceVersion(), obj.GetResourceVersion())
	}
	c.overlay[key] = obj
	c.put(obj)
	return nil
}

// Restore removes obj again. Anything else that is there belongs to another pod, or
// based on another version, and stays.
func (c *assumeCache[T]) Restore(obj T) {
	key := control.Key(obj)
	if assumed, ok := c.overlay[key]; ok && control.Object(assumed) == control.Object(obj) {
		delete(c.overlay, key)
		if cached, ok := c.api.Get(key); ok {
			c.put(cached)
		}
	}
}
