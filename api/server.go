package api

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/api/admission"
	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/furniture"
	"github.com/storagesim/storagesim/api/internal/names"
	"github.com/storagesim/storagesim/api/internal/services"
	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/api/store"
	"github.com/storagesim/storagesim/api/webhook"
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
	// DenyPrivileged makes the server refuse privileged containers, as kube-apiserver does without its flag --allow-privileged. Default: they are
	// allowed, since clusters are usually set up with that flag.
	DenyPrivileged bool
	// TaintNewNodes makes the server give every new node the taint node.kubernetes.io/not-ready, as kube-apiserver does with its admission
	// plugin TaintNodesByCondition, which is on by default there. Here it is off, since nothing removes the taint in a cluster without
	// a node lifecycle controller.
	TaintNewNodes bool
	// DefaultAccounts makes the server keep a service account "default" in each namespace, and make it anew when it is deleted. On a cluster
	// the service account controller does that a moment later; here it is part of the write that makes the namespace, and of its version, so
	// that what comes next finds the account. No client makes it, and so it is not reported to OnWrite. Default: there are none.
	// Upstream: pkg/controller/serviceaccount serviceaccounts_controller.go, v1.37.
	DefaultAccounts bool
	// RequireAccounts makes the server refuse a pod that names a service account which is not there, or secrets that its account does not let it use, and
	// give pods the imagePullSecrets of their account, as kube-apiserver does with its admission plugin ServiceAccount, which is on by default
	// there. Default: pods are taken as they are, since a server without DefaultAccounts has no account.
	RequireAccounts bool
	// Manager returns the field manager of an actor that names none: on a cluster that is the program, of which an actor may be a part.
	// Default: the actor's name.
	Manager func(actor string) string
}

// defaultLogLimit is Config.LogLimit where it is 0.
const defaultLogLimit = 10000

// Server is the API server: versioned objects, and one ordered log of changes
// for each resource. It is safe for concurrent use.
type Server struct {
	tables  *tables
	reports *reporter
	writes  *writer
	deletes *deleter
	events  *recorder
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
	clock, names := call.Clock(cfg.Now), names.Namer{Seed: cfg.Seed}
	t := &tables{registry: cfg.Registry, byHome: make(map[schema.GroupVersionResource]*table, len(cfg.Registry.Entries())), services: services.New(names.Digest)}
	t.objects = store.New(store.Config{Now: cfg.Now, LogLimit: cfg.LogLimit, Reopen: t.followed})
	a := &accounts{tables: t, names: names, clock: clock, on: cfg.DefaultAccounts}
	t.removed = a.restore
	if cfg.Manager == nil {
		cfg.Manager = func(actor string) string { return actor }
	}
	s := &Server{tables: t, events: &recorder{tables: t, names: names, clock: clock}}
	s.reports = &reporter{tables: t, clock: clock}
	prepare := &preparer{tables: t, names: names, clock: clock, webhooks: &asker{tables: t, names: names}, unprivileged: cfg.DenyPrivileged,
		managerOf: cfg.Manager, plugins: admission.Plugins{TaintNodes: cfg.TaintNewNodes, ServiceAccount: cfg.RequireAccounts}}
	s.writes = &writer{tables: t, prepare: prepare, reports: s.reports, accounts: a, names: names, clock: clock}
	s.deletes = &deleter{writes: s.writes, clock: clock}
	for _, name := range furniture.Namespaces() {
		addNamespace(s.writes, name)
	}
	cfg.Registry.OnChange(t.retire)
	return s
}

// Registry returns the kinds of the server.
func (s *Server) Registry() *registry.Registry { return s.tables.registry }

// AskWebhooks has the server ask those webhooks that a program serves, about the writes that their configurations select. Where two programs
// serve one, the first that was given is asked. Other webhooks are stored and not asked.
func (s *Server) AskWebhooks(program webhook.Asker) { s.writes.prepare.webhooks.add(program) }

// Asks reports whether the server asks all webhooks of a configuration; false for other objects.
func (s *Server) Asks(configuration runtime.Object) bool {
	return s.writes.prepare.webhooks.asks(configuration)
}

// Count returns the number of stored objects, of all kinds.
func (s *Server) Count() int {
	s.tables.objects.RLock()
	defer s.tables.objects.RUnlock()
	return s.tables.objects.Count()
}

// StoredInOlderVersions returns the resources in other versions than the preferred one that have
// objects of their own, in order of name: of a built-in kind each version has a store.
func (s *Server) StoredInOlderVersions() (list []metav1.APIResource) {
	s.tables.objects.RLock()
	defer s.tables.objects.RUnlock()
	for _, st := range s.tables.sorted() {
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
	s.tables.objects.Lock()
	defer s.tables.objects.Unlock()
	s.reports.hooks = append(s.reports.hooks, f)
}

// Objects returns all objects, ordered by resource and then by key, with their apiVersion and kind: copies, or, if they are
// shared, objects that the caller only reads, since what they point to is the server's own (as with Request.Shared).
func (s *Server) Objects(shared bool) []runtime.Object {
	s.tables.objects.RLock()
	defer s.tables.objects.RUnlock()
	var all []runtime.Object
	for _, st := range s.tables.sorted() {
		gvk := st.kind.StoredGVK()
		for _, stored := range st.All("") {
			obj := call.Labelled(stored, gvk)
			if !shared {
				obj = obj.DeepCopyObject()
			}
			all = append(all, obj)
		}
	}
	return all
}

// RecordEvent writes an event of a controller's recorder, in the form of core/v1. An event without a name is created under a new
// name. Of one with a name the count, the last time, the message and the series are written over those of the event that has
// the name, and if there is none any more, it is created. One that was made of the stored event must differ from it in these
// fields alone. It returns the event as it is stored, or, in a namespace that is being deleted or does not exist, as it would be;
// neither that nor the event given may be changed any more. The event is a write at the server like any other, but no gate sees it
// and it is not reported to OnWrite.
func (s *Server) RecordEvent(event *v1.Event) *v1.Event { return s.events.record(event) }

var _ Handler = (*Server)(nil)

// Follow makes a cursor over those objects of a resource that sel selects. It
// starts before the first list: call List, then Next until it has nothing.
//
// notify is called whenever a change is appended that the selector could
// concern. It is called while the server is locked: it must be quick, and must
// not call the server or the cursor. An unknown resource, until its kind is registered, and a field
// that the resource cannot be selected by, select nothing.
func (s *Server) Follow(gvr schema.GroupVersionResource, sel store.Selector, notify func()) *store.Cursor {
	s.tables.objects.Lock()
	defer s.tables.objects.Unlock()
	return s.tables.followed(gvr).Follow(sel, notify)
}
