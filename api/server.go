package api

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/api/internal/services"
	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/api/store"
	"github.com/storagesim/storagesim/api/views"
	"github.com/storagesim/storagesim/trace"
)

// Config configures a server. The zero value works.
type Config struct {
	// Now tells the time; default is the wall clock in UTC. It must be safe for
	// concurrent use if clients are.
	Now func() time.Time
	// Seed makes UIDs and the suffixes of generated names: the same seed and the
	// same writes give the same names.
	Seed uint64
	// LogLimit is the number of changes that are kept for each resource; default 10000. A
	// watcher further behind gets 410 Gone and lists again.
	LogLimit int
	// Registry holds the kinds of the server; default: NewRegistry, the kinds of
	// Kubernetes. Kinds may be added and removed while the server runs.
	Registry *registry.Registry
}

// defaultLogLimit is Config.LogLimit where it is 0.
const defaultLogLimit = 10000

// Server is the API server: versioned objects, and one ordered log of changes
// for each resource. It is safe for concurrent use.
type Server struct {
	cfg Config
	// objects has the lock, which guards everything below but the flags as well.
	objects *store.Store
	tables  map[schema.GroupVersionResource]*table
	hooks   []func(trace.Write)
	events  views.EventIndex
	// makesAccounts: each namespace has a service account.
	makesAccounts bool
	// services has the addresses and ports of services, and a lock of its own.
	services *services.Allocator

	// unprivileged: containers may not be privileged. taintsNodes: new nodes have the taint not-ready.
	unprivileged, taintsNodes atomic.Bool
}

// NewServer makes a server that holds the namespaces default, kube-system,
// kube-public and kube-node-lease, and nothing else.
func NewServer(cfg Config) *Server {
	if cfg.Now == nil {
		cfg.Now = func() time.Time { return time.Now().UTC() }
	}
	if cfg.LogLimit <= 0 {
		cfg.LogLimit = defaultLogLimit
	}
	if cfg.Registry == nil {
		cfg.Registry = registry.New()
	}
	s := &Server{cfg: cfg, tables: map[schema.GroupVersionResource]*table{}, events: views.NewEventIndex()}
	s.services = services.New(s.digest)
	s.objects = store.New(store.Config{Now: cfg.Now, LogLimit: cfg.LogLimit, Reopen: s.followed})
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, v1.NamespaceNodeLease} {
		s.addNamespace(name)
	}
	cfg.Registry.OnChange(s.retireTables)
	return s
}

// Registry returns the kinds of the server.
func (s *Server) Registry() *registry.Registry { return s.cfg.Registry }

// Count returns the number of stored objects, of all kinds.
func (s *Server) Count() int {
	s.objects.RLock()
	defer s.objects.RUnlock()
	return s.objects.Count()
}

// StoredInOlderVersions returns the resources in other versions than the preferred one that have
// objects of their own, in order of name: of a built-in kind each version has a store.
func (s *Server) StoredInOlderVersions() (list []metav1.APIResource) {
	s.objects.RLock()
	defer s.objects.RUnlock()
	for _, st := range s.sortedTables() {
		if st.kind.Older && st.kind.StoredAs == "" && st.Len() > 0 {
			list = append(list, st.kind.APIResource())
		}
	}
	return list
}

// OnWrite registers f to be called for every write a client attempts, refused ones and those
// that changed nothing included, in order. f runs before the client has its
// answer and must not call the server. Dry runs are not reported, nor are events that
// Event records.
func (s *Server) OnWrite(f func(trace.Write)) {
	s.objects.Lock()
	defer s.objects.Unlock()
	s.hooks = append(s.hooks, f)
}

// DenyPrivileged makes the server refuse privileged containers from now on, as
// kube-apiserver does without its flag --allow-privileged. Clusters are usually set
// up with that flag, so that this is not the default here.
func (s *Server) DenyPrivileged() { s.unprivileged.Store(true) }

// TaintNewNodes makes the server give every new node the taint
// node.kubernetes.io/not-ready, as kube-apiserver does with its admission plugin
// TaintNodesByCondition, which is on by default there. Here it is off, since nothing
// removes the taint in a cluster without a node lifecycle controller.
func (s *Server) TaintNewNodes() { s.taintsNodes.Store(true) }

// Objects returns copies of all objects, ordered by resource and then by key, with their
// apiVersion and kind.
func (s *Server) Objects() []runtime.Object {
	s.objects.RLock()
	defer s.objects.RUnlock()
	var all []runtime.Object
	for _, st := range s.sortedTables() {
		for _, stored := range st.All("") {
			obj := stored.DeepCopyObject()
			obj.GetObjectKind().SetGroupVersionKind(st.kind.StoredGVK())
			all = append(all, obj)
		}
	}
	return all
}

func (s *Server) sortedTables() []*table {
	tables := make([]*table, 0, len(s.tables))
	for _, st := range s.tables {
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

// now returns the time that the server writes into objects: whole seconds, as JSON
// has them.
func (s *Server) now() metav1.Time {
	return metav1.NewTime(s.cfg.Now().Truncate(time.Second))
}

// held reads what is stored, for a caller that holds the lock.
type held struct{ *Server }

// Get implements admission.Reader.
func (s held) Get(gvr schema.GroupVersionResource, key string) (runtime.Object, bool) {
	st, ok := s.tables[gvr]
	if !ok {
		return nil, false
	}
	obj := st.Get(key)
	return obj, obj != nil
}

// List implements admission.Reader.
func (s held) List(gvr schema.GroupVersionResource, namespace string) []runtime.Object {
	st, ok := s.tables[gvr]
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
type reader struct{ *Server }

// Get implements admission.Reader.
func (s reader) Get(gvr schema.GroupVersionResource, key string) (runtime.Object, bool) {
	s.objects.RLock()
	defer s.objects.RUnlock()
	return held(s).Get(gvr, key)
}

// List implements admission.Reader.
func (s reader) List(gvr schema.GroupVersionResource, namespace string) []runtime.Object {
	s.objects.RLock()
	defer s.objects.RUnlock()
	return held(s).List(gvr, namespace)
}
