package api

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/store"
)

// Seed stores a copy of an object as it is, over one of its name: it is not admitted or validated, its namespace need not exist, and only
// its version is set and the defaults that a server adds to what it reads of its store. A cluster would never have such an
// object. It is for tests that were written for a store without rules. obj is of a kind of client-go's scheme, in the version
// that is stored.
func (s *Server) Seed(obj runtime.Object) error {
	copied, ok := obj.DeepCopyObject().(call.Object)
	if !ok {
		return fmt.Errorf("%T has no metadata", obj)
	}
	gvks, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		return err
	}
	resource, ok := s.tables.registry.OfKind(gvks[0])
	if !ok {
		return fmt.Errorf("there is no kind %s", gvks[0])
	}
	gvr := gvks[0].GroupVersion().WithResource(resource.Name)
	s.tables.objects.Lock()
	defer s.tables.objects.Unlock()
	k, ok := s.tables.registry.Lookup(gvr)
	if !ok || k.Home != gvr || k.StoredAs != "" {
		return fmt.Errorf("%s is stored in another version than %s", gvr.Resource, gvr.Version)
	}
	st, err := s.tables.of(gvr)
	if err != nil {
		return err
	}
	k.SetDefaults(copied, false)
	k.Storable(copied)
	s.tables.put(st, st.Get(store.Key(copied)), copied)
	return nil
}
