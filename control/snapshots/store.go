package snapshots

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/storagesim/storagesim/control"
)

// Store is a controller's view of one type: a cache, and beside it the newest version of each object that the
// controller has seen or written itself. Upstream has an informer and a store.
type Store[P Object] struct {
	cache   *control.Cache[*unstructured.Unstructured]
	decoded map[string]P // the objects of the cache, by key, as far as they were asked for
	newest  map[string]P
}

func newStore[P Object](env control.Env, resource schema.GroupVersionResource) *Store[P] {
	return &Store[P]{
		cache: control.NewCache[*unstructured.Unstructured](env, resource), decoded: map[string]P{}, newest: map[string]P{},
	}
}

// Handle registers f, which is called for each change in the cache. old is nil for a new object, obj for one that is gone.
func (s *Store[P]) Handle(f func(key string, old, obj P)) {
	var none P
	s.cache.Handle(control.Handler[*unstructured.Unstructured]{
		Add:    func(obj *unstructured.Unstructured) { f(control.Key(obj), none, s.decode(obj)) },
		Update: func(old, obj *unstructured.Unstructured) { f(control.Key(obj), s.decode(old), s.decode(obj)) },
		Delete: func(obj *unstructured.Unstructured) {
			delete(s.decoded, control.Key(obj))
			f(control.Key(obj), s.decode(obj), none)
		},
	})
}

// Synced reports whether the first list has arrived.
func (s *Store[P]) Synced() bool { return s.cache.Synced() }

// Keys returns the keys of all objects in the cache, in order.
func (s *Store[P]) Keys() []string { return s.cache.Keys() }

// Cached returns an object from the cache; it must not be changed. It returns false if there is none.
func (s *Store[P]) Cached(key string) (P, bool) {
	var none P
	obj, ok := s.cache.Get(key)
	if !ok {
		return none, false
	}
	known, ok := s.decoded[key]
	if !ok || known.GetResourceVersion() != obj.GetResourceVersion() {
		known = s.decode(obj)
		s.decoded[key] = known
	}
	return known, known != none
}

// All returns the objects in the cache, in order of key.
func (s *Store[P]) All() []P {
	var all []P
	for _, key := range s.cache.Keys() {
		if obj, ok := s.Cached(key); ok {
			all = append(all, obj)
		}
	}
	return all
}

// decode returns nil for an object that is not of the type. The definitions reject such objects.
func (s *Store[P]) decode(obj *unstructured.Unstructured) P {
	typed, err := decoded[P](s.cache.Source().Resource, obj, nil)
	if err != nil {
		var none P
		return none
	}
	return typed
}

// Take stores a version of an object as the newest, unless a newer one is known; it reports whether it did.
//
// Upstream: external-snapshotter pkg/utils/util.go StoreObjectUpdate, v8.7.
func (s *Store[P]) Take(obj P) bool {
	key := control.Key(obj)
	if known, ok := s.newest[key]; ok && known.GetUID() == obj.GetUID() {
		if order, err := resourceversion.CompareResourceVersion(known.GetResourceVersion(), obj.GetResourceVersion()); err == nil && order > 0 {
			return false
		}
	}
	s.newest[key] = obj
	return true
}

// Newest returns the newest known version of an object; it must not be changed.
func (s *Store[P]) Newest(key string) (P, bool) {
	obj, ok := s.newest[key]
	return obj, ok
}

// Forget removes an object that is gone from the newest versions.
func (s *Store[P]) Forget(key string) { delete(s.newest, key) }
