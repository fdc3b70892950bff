package control

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/storagesim/storagesim/internal/sorted"
)

// Object is an API object with metadata.
type Object interface {
	runtime.Object
	metav1.Object
}

// Key returns the object's key in caches and queues: "namespace/name", or "name" for
// cluster-scoped objects.
func Key(obj metav1.Object) string {
	if ns := obj.GetNamespace(); ns != "" {
		return ns + "/" + obj.GetName()
	}
	return obj.GetName()
}

// SplitKey returns the inverse of Key.
func SplitKey(key string) (namespace, name string) {
	if ns, name, ok := strings.Cut(key, "/"); ok {
		return ns, name
	}
	return "", key
}

// Handler is called after the cache has taken a change in. It must not call the
// API; usually it adds keys to queues. Any of the functions may be nil.
type Handler[T any] struct {
	Add    func(obj T)
	Update func(old, obj T)
	// Delete gets the last state of the object.
	Delete func(obj T)
}

// WithFirst makes a cache of a resource for a controller that takes no part in a run until there is such an object: no other cache, no
// queue, no timer. When the first object comes, begin makes them, and returns the handler of the resource, which gets all objects from
// the first one on. What begin makes starts to work when its caches have had their first lists.
func WithFirst[T Object](env Env, resource schema.GroupVersionResource, begin func(objects *Cache[T]) Handler[T]) {
	objects := NewCacheAtOnce[T](env, resource)
	begun := false
	first := func() {
		if begun {
			return
		}
		begun = true
		handler := begin(objects)
		objects.Handle(handler)
		for obj := range objects.All() {
			handler.Add(obj)
		}
	}
	objects.Handle(Handler[T]{Add: func(T) { first() }})
	if objects.Len() > 0 { // the cache of some drivers is full from the beginning
		first()
	}
}

// Enqueue returns the handler that adds the key of whatever changed.
func Enqueue[T Object](add func(key string)) Handler[T] {
	return Handler[T]{
		Add:    func(obj T) { add(Key(obj)) },
		Update: func(_, obj T) { add(Key(obj)) },
		Delete: func(obj T) { add(Key(obj)) },
	}
}

// Cache is a controller's own, possibly stale, view of one resource: what an
// informer with its lister is in client-go. The objects in it are shared;
// to change one, make a DeepCopy first. Lists are in order of
// key, so that walking them is deterministic.
type Cache[T Object] struct {
	source   Source
	items    map[string]T
	keys     sorted.Keys
	handlers []Handler[T]
	few      [1]Handler[T] // where handlers begins: most caches have one
	indexes  map[string]*index[T]
	synced   bool
}

type index[T Object] struct {
	values func(T) []string
	keys   map[string]keySet // by value, the keys of the objects
}

// keySet is a set of keys that is not empty: nearly always one, and then without a map.
type keySet struct {
	one  string
	many map[string]struct{} // all of them, if there have been several
}

// NewCache makes a cache of a resource and has env keep it up to date.
func NewCache[T Object](env Env, resource schema.GroupVersionResource) *Cache[T] {
	return newCache[T](env, Source{Resource: resource})
}

// NewCacheForNode makes a cache of those objects whose spec.nodeName is node,
// as a kubelet's pod informer does.
func NewCacheForNode[T Object](env Env, resource schema.GroupVersionResource, node string) *Cache[T] {
	return newCache[T](env, Source{Resource: resource, NodeName: node})
}

// NewCacheOfName makes a cache of the one object of that name, of a resource without
// namespaces. A controller may make it at any time; work that it starts from then on waits
// for the cache's first list.
func NewCacheOfName[T Object](env Env, resource schema.GroupVersionResource, name string) *Cache[T] {
	return newCache[T](env, Source{Resource: resource, Name: name})
}

// NewCacheAtOnce makes a cache whose first list is there at once, where the driver can
// (Source.AtOnce). It comes before there are handlers.
func NewCacheAtOnce[T Object](env Env, resource schema.GroupVersionResource) *Cache[T] {
	return newCache[T](env, Source{Resource: resource, AtOnce: true})
}

func newCache[T Object](env Env, source Source) *Cache[T] {
	c := &Cache[T]{source: source} // most caches of most kinds stay empty
	env.Follow(c)
	return c
}

// Handle adds a handler. It is called for every change delivered from now on.
func (c *Cache[T]) Handle(h Handler[T]) {
	if c.handlers == nil {
		c.handlers = c.few[:0]
	}
	c.handlers = append(c.handlers, h)
}

// AddIndex adds an index by the values that f gives each object.
func (c *Cache[T]) AddIndex(name string, f func(T) []string) {
	if c.indexes == nil {
		c.indexes = map[string]*index[T]{}
	}
	ix := &index[T]{values: f, keys: map[string]keySet{}}
	for key, obj := range c.items {
		ix.add(key, f(obj))
	}
	c.indexes[name] = ix
}

// Get returns the object with that key.
func (c *Cache[T]) Get(key string) (T, bool) {
	obj, ok := c.items[key]
	return obj, ok
}

// Len returns the number of objects.
func (c *Cache[T]) Len() int { return len(c.items) }

// Synced reports whether the first list has arrived.
func (c *Cache[T]) Synced() bool { return c.synced }

// All walks the objects in order of key: those that there are when the walk begins,
// as far as they are still there, as they are by then.
func (c *Cache[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		if len(c.items) == 0 {
			return
		}
		for key := range c.keys.Clone().All() {
			if obj, ok := c.items[key]; ok && !yield(obj) {
				return
			}
		}
	}
}

// List returns the objects in order of key.
func (c *Cache[T]) List() []T {
	list := make([]T, 0, len(c.items))
	for key := range c.keys.All() {
		list = append(list, c.items[key])
	}
	return list
}

// Keys returns the keys of the objects, in order.
func (c *Cache[T]) Keys() []string { return c.keys.List() }

// ByIndex returns the objects that the named index files under value, in order
// of key. It panics if there is no such index: that is a programming error.
func (c *Cache[T]) ByIndex(name, value string) []T {
	set, ok := c.index(name).keys[value]
	switch {
	case !ok:
		return nil
	case set.many == nil:
		return []T{c.items[set.one]}
	}
	list := make([]T, 0, len(set.many))
	for _, key := range slices.Sorted(maps.Keys(set.many)) {
		list = append(list, c.items[key])
	}
	return list
}

// HasIndex reports whether the named index files any object under value. It panics if there
// is no such index.
func (c *Cache[T]) HasIndex(name, value string) bool {
	_, ok := c.index(name).keys[value]
	return ok
}

func (c *Cache[T]) index(name string) *index[T] {
	ix, ok := c.indexes[name]
	if !ok {
		panic(fmt.Sprintf("cache of %s has no index %q", c.source.Resource.Resource, name))
	}
	return ix
}

// Source implements Feed.
func (c *Cache[T]) Source() Source { return c.source }

// Replace implements Feed: it adds new objects, updates those that differ, deletes
// missing ones, and calls the handlers.
func (c *Cache[T]) Replace(items []Item) {
	c.synced = true
	if len(c.items) == 0 { // the first list
		for _, item := range items {
			c.put(item.Key, item.Object.(T))
		}
		return
	}
	seen := make(map[string]bool, len(items))
	for _, item := range items {
		seen[item.Key] = true
		c.put(item.Key, item.Object.(T))
	}
	for key := range c.keys.Clone().All() {
		if obj, ok := c.items[key]; ok && !seen[key] {
			c.remove(key, obj)
		}
	}
}

// Deliver implements Feed.
func (c *Cache[T]) Deliver(change Change) {
	obj := change.Object.(T)
	if change.Type == watch.Deleted {
		c.remove(change.Key, obj)
		return
	}
	c.put(change.Key, obj)
}

func (c *Cache[T]) put(key string, obj T) {
	old, existed := c.items[key]
	if existed && old.GetResourceVersion() == obj.GetResourceVersion() {
		return // a relist of what is known
	}
	if !existed {
		c.keys.Add(key)
	}
	if c.items == nil {
		c.items = map[string]T{}
	}
	c.items[key] = obj
	for _, ix := range c.indexes {
		if existed {
			ix.move(key, old, obj)
		} else {
			ix.add(key, ix.values(obj))
		}
	}
	for _, h := range c.handlers {
		switch {
		case existed && h.Update != nil:
			h.Update(old, obj)
		case !existed && h.Add != nil:
			h.Add(obj)
		}
	}
}

func (c *Cache[T]) remove(key string, obj T) {
	old, existed := c.items[key]
	if !existed {
		return
	}
	delete(c.items, key)
	c.keys.Remove(key)
	for _, ix := range c.indexes {
		ix.remove(key, ix.values(old))
	}
	for _, h := range c.handlers {
		if h.Delete != nil {
			h.Delete(obj)
		}
	}
}

// move files an object that has changed; most changes are of something else.
func (ix *index[T]) move(key string, old, obj T) {
	was, is := ix.values(old), ix.values(obj)
	if slices.Equal(was, is) {
		return
	}
	ix.remove(key, was)
	ix.add(key, is)
}

func (ix *index[T]) add(key string, values []string) {
	for _, value := range values {
		set, ok := ix.keys[value]
		switch {
		case !ok:
			ix.keys[value] = keySet{one: key}
		case set.many != nil:
			set.many[key] = struct{}{}
		case set.one != key:
			ix.keys[value] = keySet{many: map[string]struct{}{set.one: {}, key: {}}}
		}
	}
}

func (ix *index[T]) remove(key string, values []string) {
	for _, value := range values {
		set, ok := ix.keys[value]
		if delete(set.many, key); ok && (set.one == key || set.many != nil && len(set.many) == 0) {
			delete(ix.keys, value)
		}
	}
}
