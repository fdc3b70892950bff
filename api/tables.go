package api

import (
	"cmp"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/names"
	"github.com/storagesim/storagesim/api/internal/services"
	"github.com/storagesim/storagesim/api/internal/sharing"
	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/api/store"
)

// table is the table of a resource, and its kind.
type table struct {
	*store.Table
	kind *registry.Entry // one of its versions, if they share the table
	home schema.GroupVersionResource
	// placeholder: there is no such kind yet, but it has followers.
	placeholder bool
	quantities  sharing.Quantities
	// undefaulted has the keys of objects that a real server stores otherwise than it shows them: those that were not updated yet and are
	// Strategy.Undefaulted, and custom ones whose metadata was applied with empty parts. An update that changes nothing stores them as they are shown.
	undefaulted map[string]bool
}

// tables holds the tables of the server, by the resource that is stored.
type tables struct {
	// objects has the lock, which guards everything here, what the reporter, the recorder and the accounts know, and
	// what is in the tables.
	objects  *store.Store
	registry *registry.Registry
	byHome   map[schema.GroupVersionResource]*table
	// services has the addresses and ports of services, and a lock of its own.
	services *services.Allocator
	// removed is called with each object that is removed, with the lock held.
	removed func(last call.Object)
}

// make returns an empty table of a kind.
func (t *tables) make(k *registry.Entry) *table {
	return &table{
		Table: t.objects.NewTable(store.Resource{Name: k.GVR, Namespaced: k.Namespaced, Fields: k.Fields, TTL: k.TTL}),
		kind:  k, home: k.Home,
	}
}

// uid returns the UID of an object that is about to be created in the table.
func (st *table) uid(names names.Namer, key string) types.UID {
	return names.UID(st.kind.GVR.GroupResource(), key, st.Deleted())
}

// of returns the table of a resource, making it at first use. An unknown
// resource is a 404 in words. The caller holds the lock.
func (t *tables) of(gvr schema.GroupVersionResource) (*table, error) {
	if st, ok := t.byHome[gvr]; ok && !st.placeholder {
		return st, nil
	}
	k, ok := t.registry.Lookup(gvr)
	if !ok {
		return nil, unknownResource(gvr)
	}
	if st, ok := t.byHome[k.Home]; ok && k.Home != gvr {
		return st, nil
	}
	st := t.make(k)
	t.byHome[k.Home] = st
	return st, nil
}

// toRead returns the table of a kind, an empty one if nothing was written yet. It takes the lock.
func (t *tables) toRead(k *registry.Entry) *table {
	t.objects.RLock()
	defer t.objects.RUnlock()
	if st, ok := t.byHome[k.Home]; ok {
		return st
	}
	return t.make(k)
}

// followed returns the table of a resource for a follower, or a placeholder if there is no such
// kind. The caller holds the lock.
func (t *tables) followed(gvr schema.GroupVersionResource) *store.Table {
	if st, err := t.of(gvr); err == nil {
		return st.Table
	}
	st, ok := t.byHome[gvr]
	if !ok {
		st = t.make(&registry.Entry{GVR: gvr, Home: gvr})
		st.placeholder = true
		t.byHome[gvr] = st
	}
	return st.Table
}

// retire removes the tables of kinds that are gone, with their objects; their followers get
// 410 Gone. It is called when kinds have come or gone.
func (t *tables) retire() {
	t.objects.Lock()
	defer t.objects.Unlock()
	for _, st := range t.sorted() {
		if k, ok := t.registry.Lookup(st.kind.GVR); k == st.kind || !ok && st.placeholder || t.inherited(st) {
			continue
		}
		delete(t.byHome, st.home)
		st.Retire()
	}
}

// inherited returns the entry that now has a table which versions share, and whether there is
// one.
func (t *tables) inherited(st *table) (found bool) {
	if st.placeholder || st.kind.StoredAs == "" {
		return false
	}
	for _, k := range t.registry.Entries() {
		if k.Home != st.home {
			continue
		}
		found = true
		st.kind, st.Name, st.Namespaced, st.Fields = k, k.GVR, k.Namespaced, k.Fields
		if k.GVK.Version == k.StoredAs && k.Show != nil {
			st.Reread(k.Show) // with the fields and defaults that the schema of the version has now
		}
	}
	return found
}

func (t *tables) sorted() []*table {
	tables := make([]*table, 0, len(t.byHome))
	for _, st := range t.byHome {
		tables = append(tables, st)
	}
	slices.SortFunc(tables, func(a, b *table) int {
		return cmp.Or(
			cmp.Compare(a.kind.GVR.Resource, b.kind.GVR.Resource),
			cmp.Compare(a.kind.GVR.Group, b.kind.GVR.Group),
			cmp.Compare(a.kind.GVR.Version, b.kind.GVR.Version))
	})
	return tables
}

func unknownResource(gvr schema.GroupVersionResource) error {
	err := apierrors.NewGenericServerResponse(404, "", gvr.GroupResource(), "", "", 0, false)
	err.ErrStatus.Message = "the server could not find the requested resource: it has no " + gvr.Resource + " in " + gvr.GroupVersion().String()
	return err
}

// defaulted notes an object that was just stored as it is shown, or is gone.
func (st *table) defaulted(obj call.Object) {
	if len(st.undefaulted) > 0 {
		delete(st.undefaulted, store.Key(obj))
	}
}

// put stores obj, which must not be modified from now on, under a new version. old is the object that it replaces, nil if it is new.
func (t *tables) put(st *table, old, obj call.Object) {
	t.services.Replace(old, obj)
	st.Put(old, obj)
	st.defaulted(obj)
}

// remove removes the object. last is its final state, a copy that gets the version of the
// removal; old is the stored object.
func (t *tables) remove(st *table, old, last call.Object) {
	t.services.Replace(old, nil)
	st.Remove(old, last)
	st.defaulted(last)
	t.removed(last)
}

// versions returns the entries of a kind in all its versions.
func (t *tables) versions(k *registry.Entry) (list []*registry.Entry) {
	for _, other := range t.registry.Entries() {
		if other.GVK.GroupKind() == k.GVK.GroupKind() {
			list = append(list, other)
		}
	}
	return list
}

// version returns the version of the latest write.
func (t *tables) version() uint64 {
	t.objects.RLock()
	defer t.objects.RUnlock()
	return t.objects.Version()
}

// held reads what is stored, for a caller that holds the lock.
type held struct{ *tables }

// Get implements admission.Reader.
func (t held) Get(gvr schema.GroupVersionResource, key string) (runtime.Object, bool) {
	st, ok := t.byHome[gvr]
	if !ok {
		return nil, false
	}
	obj := st.Get(key)
	return obj, obj != nil
}

// List implements admission.Reader.
func (t held) List(gvr schema.GroupVersionResource, namespace string) []runtime.Object {
	st, ok := t.byHome[gvr]
	if !ok || st.Len() == 0 {
		return nil
	}
	var list []runtime.Object
	for _, obj := range st.All(namespace) {
		list = append(list, obj)
	}
	return list
}

// reader reads what is stored, for a caller that does not hold the lock.
type reader struct{ *tables }

// Get implements admission.Reader.
func (t reader) Get(gvr schema.GroupVersionResource, key string) (runtime.Object, bool) {
	t.objects.RLock()
	defer t.objects.RUnlock()
	return held(t).Get(gvr, key)
}

// List implements admission.Reader.
func (t reader) List(gvr schema.GroupVersionResource, namespace string) []runtime.Object {
	t.objects.RLock()
	defer t.objects.RUnlock()
	return held(t).List(gvr, namespace)
}
