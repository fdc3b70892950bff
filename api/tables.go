package api

import (
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/api/internal/call"
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
	// quantities holds those of the latest object that has any: see share.
	quantities v1.ResourceList
}

// newTable returns an empty table of a kind.
func (s *Server) newTable(k *registry.Entry) *table {
	return &table{
		Table: s.objects.NewTable(store.Resource{Name: k.GVR, Namespaced: k.Namespaced, Fields: k.Fields}),
		kind:  k, home: k.Home,
	}
}

// table returns the table of a resource, making it at first use. An unknown
// resource is a 404 in words. The caller holds the lock.
func (s *Server) table(gvr schema.GroupVersionResource) (*table, error) {
	if st, ok := s.tables[gvr]; ok && !st.placeholder {
		return st, nil
	}
	k, ok := s.cfg.Registry.Lookup(gvr)
	if !ok {
		return nil, unknownResource(gvr)
	}
	if st, ok := s.tables[k.Home]; ok && k.Home != gvr {
		return st, nil
	}
	st := s.newTable(k)
	s.tables[k.Home] = st
	return st, nil
}

// tableToRead returns the table of a kind, an empty one if nothing was written yet. It takes the lock.
func (s *Server) tableToRead(k *registry.Entry) *table {
	s.objects.RLock()
	defer s.objects.RUnlock()
	if st, ok := s.tables[k.Home]; ok {
		return st
	}
	return s.newTable(k)
}

// followed returns the table of a resource for a follower, or a placeholder if there is no such
// kind. The caller holds the lock.
func (s *Server) followed(gvr schema.GroupVersionResource) *store.Table {
	if st, err := s.table(gvr); err == nil {
		return st.Table
	}
	st, ok := s.tables[gvr]
	if !ok {
		st = s.newTable(&registry.Entry{GVR: gvr, Home: gvr})
		st.placeholder = true
		s.tables[gvr] = st
	}
	return st.Table
}

// Follow makes a cursor over those objects of a resource that sel selects. It
// starts before the first list: call List, then Next until it has nothing.
//
// notify is called whenever a change is appended that the selector could
// concern. It is called while the server is locked: it must be quick, and must
// not call the server or the cursor. An unknown resource, until its kind is registered, and a field
// that the resource cannot be selected by, select nothing.
func (s *Server) Follow(gvr schema.GroupVersionResource, sel store.Selector, notify func()) *store.Cursor {
	s.objects.Lock()
	defer s.objects.Unlock()
	return s.followed(gvr).Follow(sel, notify)
}

// retireTables removes the tables of kinds that are gone, with their objects; their followers get
// 410 Gone. It is called when kinds have come or gone.
func (s *Server) retireTables() {
	s.objects.Lock()
	defer s.objects.Unlock()
	for _, st := range s.sortedTables() {
		if k, ok := s.cfg.Registry.Lookup(st.kind.GVR); k == st.kind || !ok && st.placeholder || s.inherited(st) {
			continue
		}
		delete(s.tables, st.home)
		st.Retire()
	}
}

// inherited returns the entry that now has a table which versions share, and whether there is
// one.
func (s *Server) inherited(st *table) (found bool) {
	if st.placeholder || st.kind.StoredAs == "" {
		return false
	}
	for _, k := range s.cfg.Registry.Entries() {
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

func unknownResource(gvr schema.GroupVersionResource) error {
	err := apierrors.NewGenericServerResponse(404, "", gvr.GroupResource(), "", "", 0, false)
	err.ErrStatus.Message = "the server could not find the requested resource: it has no " + gvr.Resource + " in " + gvr.GroupVersion().String()
	return err
}

// put stores obj, which must not be modified from now on, under a new version. old is the object that it replaces, nil if it is new.
func (s *Server) put(st *table, old, obj call.Object) {
	s.services.Replace(old, obj)
	st.Put(old, obj)
}

// remove removes the object. last is its final state, a copy that gets the version of the
// removal; old is the stored object.
func (s *Server) remove(st *table, old, last call.Object) {
	s.services.Replace(old, nil)
	st.Remove(old, last)
	s.restoreAccount(last)
}
