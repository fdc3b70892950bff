package api

import (
	"strconv"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/api/store"
)

var serviceAccounts = v1.SchemeGroupVersion.WithResource("serviceaccounts")

// defaultAccount is the name of the service account that every namespace has.
const defaultAccount = "default"

// accounts keeps a service account in each namespace.
type accounts struct {
	tables *tables
	names  namer
	clock  clock
	on     bool // from the call of MakeDefaultAccounts
}

// MakeDefaultAccounts makes the server keep a service account "default" in each namespace, in
// those that there are and in those that come, and make it anew when it is deleted. On a
// cluster the service account controller does that a moment later; here it is part of the
// write, and of its version, so that what comes next finds the account. No client makes it, and
// so it is not reported to OnWrite.
// Upstream: pkg/controller/serviceaccount serviceaccounts_controller.go, v1.37.
func (s *Server) MakeDefaultAccounts() {
	s.tables.objects.Lock()
	defer s.tables.objects.Unlock()
	s.accounts.on = true
	for _, ns := range (held{s.tables}).List(registry.Namespaces, "") {
		s.accounts.add(ns.(*v1.Namespace))
	}
}

// add makes the service account of a namespace, in the same version as the namespace.
func (a *accounts) add(ns *v1.Namespace) {
	at, err := strconv.ParseUint(ns.ResourceVersion, 10, 64)
	if err != nil {
		return // the server has given the namespace its version
	}
	a.tables.objects.At(at, func() { a.put(ns) })
}

// put makes the service account of a namespace unless there is one, or the namespace
// is being deleted.
func (a *accounts) put(ns *v1.Namespace) {
	st, err := a.tables.of(serviceAccounts)
	if err != nil || !a.on || ns.DeletionTimestamp != nil {
		return
	}
	account := &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: defaultAccount, CreationTimestamp: a.clock.now()}}
	if st.Get(store.Key(account)) != nil {
		return
	}
	account.UID = a.names.uid(st, store.Key(account))
	st.kind.SetDefaults(account)
	a.tables.put(st, nil, account)
}

// restore makes a service account anew that every namespace has.
func (a *accounts) restore(gone call.Object) {
	if account, ok := gone.(*v1.ServiceAccount); ok && account.Name == defaultAccount {
		if ns, ok := (held{a.tables}).Get(registry.Namespaces, account.Namespace); ok {
			a.put(ns.(*v1.Namespace))
		}
	}
}
