package snapshots

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/storagesim/storagesim/control"
)

// Store is a controller's view of one type: a cache, and beside it the newest versions that the
// controller has seen or written itself. Upstream has an informer and a store.
type Store[T any, P Pointer[T]] struct {
	cache   *control.Cache[*unstructured.Unstructured]
	decoded map[string]P // of what is in the cache
	newest  map[string]P
}

func newStore[T any, P Pointer[T]](env control.Env, resource schema.GroupVersionResource) *Store[T, P] {
	return &Store[T, P]{
		cache: control.NewCache[*unstructured.Unstructured](env, resource), decoded: map[string]P{}, newest: map[string]P{},
	}
}

// Handle has changes be handled: old and obj are what an object was and is, nil if it was not or
// is no more.
func (s *Store[T, P]) Handle(f func(key string, old, obj P)) {
	s.cache.Handle(control.Handler[*unstructured.Unstructured]{
		Add:    func(obj *unstructured.Unstructured) { f(control.Key(obj), nil, s.decode(obj)) },
		Update: func(old, obj *unstructured.Unstructured) { f(control.Key(obj), s.decode(old), s.decode(obj)) },
		Delete: func(obj *unstructured.Unstructured) {
			delete(s.decoded, control.Key(obj))
			f(control.Key(obj), s.decode(obj), nil)
		},
	})
}

// Synced says whether the first list has arrived.
func (s *Store[T, P]) Synced() bool { return s.cache.Synced() }

// Keys are those of all objects in the cache, in order.
func (s *Store[T, P]) Keys() []string { return s.cache.Keys() }

// Cached is the object in the cache, which must not be changed; false if there is none.
func (s *Store[T, P]) Cached(key string) (P, bool) {
	obj, ok := s.cache.Get(key)
	if !ok {
		return nil, false
	}
	known, ok := s.decoded[key]
	if !ok || known.GetResourceVersion() != obj.GetResourceVersion() {
		known = s.decode(obj)
		s.decoded[key] = known
	}
	return known, known != nil
}

// All are the objects in the cache, in order of key.
func (s *Store[T, P]) All() []P {
	var all []P
	for _, key := range s.cache.Keys() {
		if obj, ok := s.Cached(key); ok {
			all = append(all, obj)
		}
	}
	return all
}

// decode is nil for what is not of the type, which the definitions let nothing be.
func (s *Store[T, P]) decode(obj *unstructured.Unstructured) P {
	typed, err := decoded[T, P](s.cache.Source().Resource, obj, nil)
	if err != nil {
		return nil
	}
	return typed
}

// Take notes the version of an object, and says whether it is no older than what was known.
//
// Upstream: external-snapshotter pkg/utils/util.go StoreObjectUpdate, v8.7.
func (s *Store[T, P]) Take(obj P) bool {
	key := control.Key(obj)
	if known, ok := s.newest[key]; ok && known.GetUID() == obj.GetUID() {
		if order, err := resourceversion.CompareResourceVersion(known.GetResourceVersion(), obj.GetResourceVersion()); err == nil && order > 0 {
			return false
		}
	}
	s.newest[key] = obj
	return true
}

// Newest is the newest version that is known of an object; it must not be changed.
func (s *Store[T, P]) Newest(key string) (P, bool) {
	obj, ok := s.newest[key]
	return obj, ok
}

// Forget forgets an object that is gone.
func (s *Store[T, P]) Forget(key string) { delete(s.newest, key) }
