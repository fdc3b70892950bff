package api

import (
	"iter"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/sorted"
	"github.com/storagesim/storagesim/trace"
)

// store holds one resource: its objects, its log of changes and its followers. Objects in it are shared with readers and never changed.
type store struct {
	kind      *registry.Entry // one of its versions, if they share the store
	home      schema.GroupVersionResource
	items     map[string]call.Object // by key
	keys      sorted.Keys
	log       changeLog
	followers map[bucket][]*Cursor
	// bookmarkers want bookmarks; lastBookmark is when they were last offered.
	bookmarkers  []*Cursor
	lastBookmark time.Time
	created      uint64 // number of objects ever created
	deleted      uint64 // number ever removed
	// quantities holds those of the latest object that has any: see share.
	quantities v1.ResourceList
	// placeholder: there is no such kind yet, but it has followers. retired: the kind is
	// gone, or the placeholder is no longer needed.
	placeholder, retired bool
}

// store returns the store of a resource, making it at first use. An unknown
// resource is a 404 in words.
func (s *Server) store(gvr schema.GroupVersionResource) (*store, error) {
	if st, ok := s.stores[gvr]; ok && !st.placeholder {
		return st, nil
	}
	k, ok := s.cfg.Registry.Lookup(gvr)
	if !ok {
		return nil, unknownResource(gvr)
	}
	if st, ok := s.stores[k.Home]; ok && k.Home != gvr {
		return st, nil
	}
	st := newStore(k, s.cfg.LogLimit)
	st.lastBookmark = s.cfg.Now()
	s.stores[k.Home] = st
	return st, nil
}

// followed returns the store of a resource for a follower, or a placeholder if there is no such
// kind.
func (s *Server) followed(gvr schema.GroupVersionResource) *store {
	if st, err := s.store(gvr); err == nil {
		return st
	}
	st, ok := s.stores[gvr]
	if !ok {
		st = newStore(&registry.Entry{GVR: gvr, Home: gvr}, 1)
		st.placeholder = true
		s.stores[gvr] = st
	}
	return st
}

// retireStores removes the stores of kinds that are gone, with their objects; their followers get
// 410 Gone. It is called when kinds have come or gone.
func (s *Server) retireStores() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.sortedStores() {
		if k, ok := s.cfg.Registry.Lookup(st.kind.GVR); k == st.kind || !ok && st.placeholder || s.inherited(st) {
			continue
		}
		delete(s.stores, st.home)
		s.count -= len(st.items)
		st.retired, st.items, st.keys = true, nil, sorted.Keys{}
		for _, cursors := range st.followers {
			for _, cursor := range cursors {
				cursor.wake(st.log.next)
			}
		}
	}
}

// inherited returns the entry that now has a store which versions share, and whether there is
// one.
func (s *Server) inherited(st *store) (found bool) {
	if st.placeholder || st.kind.StoredAs == "" {
		return false
	}
	for _, k := range s.cfg.Registry.Entries() {
		if k.Home != st.home {
			continue
		}
		st.kind, found = k, true
		if k.GVK.Version == k.StoredAs {
			st.reread(k)
		}
	}
	return found
}

// reread changes the objects to how the entry of their version shows them, with the fields and defaults
// that its schema has now. Their versions stay, and followers see it when they list again: on
// a cluster, too, that is done whenever an object is read from etcd.
func (st *store) reread(k *registry.Entry) {
	if k.Show == nil {
		return
	}
	for at, obj := range st.items {
		shown := obj.DeepCopyObject().(call.Object)
		k.Show(shown)
		if !equality.Semantic.DeepEqual(obj, shown) {
			st.items[at] = shown
		}
	}
}

func newStore(k *registry.Entry, limit int) *store {
	return &store{
		kind: k, home: k.Home, items: map[string]call.Object{}, log: changeLog{limit: limit}, followers: map[bucket][]*Cursor{},
	}
}

func unknownResource(gvr schema.GroupVersionResource) error {
	err := apierrors.NewGenericServerResponse(404, "", gvr.GroupResource(), "", "", 0, false)
	err.ErrStatus.Message = "the server could not find the requested resource: it has no " + gvr.Resource + " in " + gvr.GroupVersion().String()
	return err
}

func keyOf(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

func key(obj call.Object) string { return keyOf(obj.GetNamespace(), obj.GetName()) }

// version gives obj the next resourceVersion.
func (s *Server) version(obj call.Object) {
	s.rv++
	obj.SetResourceVersion(strconv.FormatUint(s.rv, 10))
}

// put stores obj, which must not be modified from now on, under a new version, and
// tells followers. old is the object it replaces, nil if it is new.
func (s *Server) put(st *store, old, obj call.Object) {
	s.version(obj)
	s.taken.count(old, -1)
	s.taken.count(obj, 1)
	k := key(obj)
	if old == nil {
		st.keys.Add(k)
		st.created++
		s.count++
		st.items[k] = obj
		s.publish(st, control.Change{Type: watch.Added, Item: control.Item{Key: k, Object: obj}, RV: s.rv, Heartbeat: trace.IsHeartbeat(nil, obj)})
		return
	}
	st.items[k] = obj
	s.publish(st, control.Change{Type: watch.Modified, Item: control.Item{Key: k, Object: obj}, Old: old, RV: s.rv, Heartbeat: trace.IsHeartbeat(old, obj)})
}

// remove removes the object. last is its final state, a copy that gets the version of the
// removal; old is the stored object.
func (s *Server) remove(st *store, old, last call.Object) {
	s.version(last)
	s.taken.count(old, -1)
	k := key(last)
	delete(st.items, k)
	st.keys.Remove(k)
	st.deleted++
	s.count--
	s.publish(st, control.Change{Type: watch.Deleted, Item: control.Item{Key: k, Object: last}, Old: old, RV: s.rv, Heartbeat: trace.IsHeartbeat(old, last)})
	s.restoreAccount(last)
}

// inNamespace returns the keys in a namespace, all of them for "", in order.
func (st *store) inNamespace(namespace string) iter.Seq[string] {
	if namespace == "" || !st.kind.Namespaced {
		return st.keys.All()
	}
	return st.keys.Range(namespace+"/", namespace+"0") // '0' follows '/'
}
