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

// MakeDefaultAccounts makes the server keep a service account "default" in each namespace, in
// those that there are and in those that come, and make it anew when it is deleted. On a
// cluster the service account controller does that a moment later; here it is part of the
// write, and of its version, so that what comes next finds the account. No client makes it, and
// so it is not reported to OnWrite.
// Upstream: pkg/controller/serviceaccount serviceaccounts_controller.go, v1.37.
func (s *Server) MakeDefaultAccounts() {
	s.objects.Lock()
	defer s.objects.Unlock()
	s.makesAccounts = true
	for _, ns := range (held{s}).List(registry.Namespaces, "") {
		s.addAccount(ns.(*v1.Namespace))
	}
}

// addAccount makes the service account of a namespace, in the same version as the namespace.
func (s *Server) addAccount(ns *v1.Namespace) {
	at, err := strconv.ParseUint(ns.ResourceVersion, 10, 64)
	if err != nil {
		return // the server has given the namespace its version
	}
	s.objects.At(at, func() { s.putAccount(ns) })
}

// putAccount makes the service account of a namespace unless there is one, or the namespace
// is being deleted.
func (s *Server) putAccount(ns *v1.Namespace) {
	st, err := s.table(serviceAccounts)
	if err != nil || !s.makesAccounts || ns.DeletionTimestamp != nil {
		return
	}
	account := &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: defaultAccount, CreationTimestamp: s.now()}}
	if st.Get(store.Key(account)) != nil {
		return
	}
	account.UID = s.uid(st, store.Key(account))
	st.kind.SetDefaults(account)
	s.put(st, nil, account)
}

// restoreAccount makes a service account anew that every namespace has.
func (s *Server) restoreAccount(gone call.Object) {
	if account, ok := gone.(*v1.ServiceAccount); ok && account.Name == defaultAccount {
		if ns, ok := (held{s}).Get(registry.Namespaces, account.Namespace); ok {
			s.putAccount(ns.(*v1.Namespace))
		}
	}
}
