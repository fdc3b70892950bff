package store

import (
	"iter"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/semantic"
	"github.com/storagesim/storagesim/internal/sorted"
	"github.com/storagesim/storagesim/trace"
)

// Config configures a store. All of it is required.
type Config struct {
	// Now tells the time, for bookmarks.
	Now func() time.Time
	// LogLimit is the number of changes that are kept for each resource.
	LogLimit int
	// Reopen returns the table of a resource for a cursor whose table was retired. The caller holds the lock.
	Reopen func(resource schema.GroupVersionResource) *Table
}

// Store has the objects of all resources. Its lock guards its tables and every cursor's position; methods that take the lock
// themselves say so, all others are called with it.
type Store struct {
	sync.RWMutex
	cfg   Config
	rv    uint64 // of the latest write: one counter for all resources
	count int
}

// New returns an empty store.
func New(cfg Config) *Store { return &Store{cfg: cfg} }

// Version returns the version of the latest write.
func (s *Store) Version() uint64 { return s.rv }

// Count returns the number of objects in all tables.
func (s *Store) Count() int { return s.count }

// At calls f with the counter set back so that the first write of f gets version rv, and then lets it go on from where it was.
func (s *Store) At(rv uint64, f func()) {
	now := s.rv
	s.rv = rv - 1
	f()
	s.rv = now
}

// Resource is all that a table knows of its objects.
type Resource struct {
	Name       schema.GroupVersionResource
	Namespaced bool
	// Fields holds, by name, functions that read the fields that objects can be selected by, besides metadata.name and
	// metadata.namespace.
	Fields Fields
	// TTL is the time that an object lasts after it was last written; 0: it lasts.
	TTL time.Duration
}

// Fields are functions that read fields of an object, by name.
type Fields = map[string]func(obj runtime.Object) string

// Form shows the objects of a table as one version of a kind does.
type Form struct {
	Fields Fields
	// Given returns a stored object for a reader, who may modify it unless shared is set.
	Given func(obj runtime.Object, shared bool) runtime.Object
	// New returns an empty object, for bookmarks.
	New func() call.Object
}

// Table holds one resource: its objects, its log of changes and its followers. Objects in it are shared with readers and never changed.
type Table struct {
	Resource
	store     *Store
	items     map[string]call.Object // by key; nil until there is one
	keys      sorted.Keys
	expiry    expiry // empty where there is no TTL
	log       changeLog
	followers followers
	// bookmarkers want bookmarks; lastBookmark is when they were last offered.
	bookmarkers  []*Cursor
	lastBookmark time.Time
	created      uint64 // number of objects ever created
	deleted      uint64 // number ever removed
	retired      bool   // the table is no longer that of its resource
}

// NewTable returns an empty table. The caller keeps it.
func (s *Store) NewTable(of Resource) *Table {
	return &Table{
		Resource: of, store: s, log: changeLog{limit: s.cfg.LogLimit}, lastBookmark: s.cfg.Now(),
	}
}

// KeyOf returns the key of the object of that name.
func KeyOf(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// Key returns the key of an object.
func Key(obj call.Object) string { return KeyOf(obj.GetNamespace(), obj.GetName()) }

// Get returns the object of that key, nil if there is none.
func (t *Table) Get(key string) call.Object {
	if t.expired(key) {
		return nil
	}
	return t.items[key]
}

// Len returns the number of objects that are stored, those that have expired among them.
func (t *Table) Len() int { return len(t.items) }

// Created returns the number of objects that were ever created.
func (t *Table) Created() uint64 { return t.created }

// Deleted returns the number of objects that were ever removed.
func (t *Table) Deleted() uint64 { return t.deleted }

// All walks the objects in a namespace, all of them for "", in order of key.
func (t *Table) All(namespace string) iter.Seq2[string, call.Object] {
	return func(yield func(string, call.Object) bool) {
		for k := range t.keysIn(namespace) {
			if !t.expired(k) && !yield(k, t.items[k]) {
				return
			}
		}
	}
}

// keysIn returns the keys in a namespace, all of them for "", in order.
func (t *Table) keysIn(namespace string) iter.Seq[string] {
	if namespace == "" || !t.Namespaced {
		return t.keys.All()
	}
	return t.keys.Range(namespace+"/", namespace+"0") // '0' follows '/'
}

// version gives obj the next resourceVersion.
func (s *Store) version(obj call.Object) {
	s.rv++
	obj.SetResourceVersion(strconv.FormatUint(s.rv, 10))
}

// Put stores obj, which must not be modified from now on, under a new version, and
// tells followers. old is the object it replaces, nil if it is new.
func (t *Table) Put(old, obj call.Object) {
	k := Key(obj)
	if t.TTL != 0 {
		if old == nil {
			t.MakeRoom(k)
		}
		t.expiry.write(k, t.store.cfg.Now())
	}
	t.store.version(obj)
	if old == nil {
		t.keys.Add(k)
		t.created++
		t.store.count++
		if t.items == nil {
			t.items = map[string]call.Object{}
		}
		t.items[k] = obj
		t.publish(control.Change{Type: watch.Added, Item: control.Item{Key: k, Object: obj}, RV: t.store.rv, Heartbeat: trace.IsHeartbeat(nil, obj)})
		return
	}
	t.items[k] = obj
	t.publish(control.Change{Type: watch.Modified, Item: control.Item{Key: k, Object: obj}, Old: old, RV: t.store.rv, Heartbeat: trace.IsHeartbeat(old, obj)})
}

// Remove removes the object. last is its final state, a copy that gets the version of the
// removal; old is the stored object.
func (t *Table) Remove(old, last call.Object) {
	t.store.version(last)
	k := Key(last)
	delete(t.items, k)
	delete(t.expiry.lifetimes, k)
	t.keys.Remove(k)
	t.deleted++
	t.store.count--
	t.publish(control.Change{Type: watch.Deleted, Item: control.Item{Key: k, Object: last}, Old: old, RV: t.store.rv, Heartbeat: trace.IsHeartbeat(old, last)})
}

// Retire removes the objects without a write: the table is no longer that of its resource. Its followers get 410 Gone.
func (t *Table) Retire() {
	t.store.count -= len(t.items)
	t.retired, t.items, t.keys = true, nil, sorted.Keys{}
	for _, cursor := range t.followers.all() {
		cursor.wake(t.log.next)
	}
}

// Reread changes the objects to how show shows them now. Their versions stay, and followers see it when they list again: on
// a cluster, too, that is done whenever an object is read from etcd.
func (t *Table) Reread(show func(obj runtime.Object)) {
	for at, obj := range t.items {
		shown := obj.DeepCopyObject().(call.Object)
		show(shown)
		if !semantic.Equal(obj, shown) {
			t.items[at] = shown
		}
	}
}
