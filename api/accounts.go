package api

import (
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/furniture"
	"github.com/storagesim/storagesim/api/internal/names"
	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/api/store"
)

var (
	serviceAccounts = v1.SchemeGroupVersion.WithResource("serviceaccounts")
	configMaps      = v1.SchemeGroupVersion.WithResource("configmaps")
)

// accounts keeps in each namespace what controllers make there on a cluster: a service account, and the server's certificate.
type accounts struct {
	tables *tables
	names  names.Namer
	clock  call.Clock
	on     bool // Config.DefaultAccounts
	// certificate has the text of the ConfigMap in each namespace, from the call of Furnish.
	certificate string
}

// add makes what every namespace has, in the same version as the namespace.
func (a *accounts) add(ns *v1.Namespace) {
	at, err := strconv.ParseUint(ns.ResourceVersion, 10, 64)
	if err != nil {
		return // the server has given the namespace its version
	}
	a.tables.objects.At(at, func() { a.putAccount(ns) })
	a.tables.objects.At(at, func() { a.putCertificate(ns) })
}

// putAccount makes the service account of a namespace, if the server makes them.
func (a *accounts) putAccount(ns *v1.Namespace) {
	if a.on {
		a.put(ns, serviceAccounts, furniture.Account())
	}
}

// putCertificate makes the ConfigMap of a namespace with the server's certificate, if the server publishes it.
func (a *accounts) putCertificate(ns *v1.Namespace) {
	if a.certificate != "" {
		a.put(ns, configMaps, furniture.Certificate(a.certificate))
	}
}

// publish makes the ConfigMap with the certificate in each namespace, in those that there are and in those that come.
// Upstream: pkg/controller/certificates/rootcacertpublisher Publisher, v1.37.
func (a *accounts) publish(certificate string) {
	a.tables.objects.Lock()
	defer a.tables.objects.Unlock()
	a.certificate = certificate
	for _, ns := range (held{a.tables}).List(registry.Namespaces, "") {
		a.putCertificate(ns.(*v1.Namespace))
	}
}

// put stores an object in a namespace unless it is there, or the namespace is being deleted.
func (a *accounts) put(ns *v1.Namespace, resource schema.GroupVersionResource, obj call.Object) {
	st, err := a.tables.of(resource)
	if err != nil || ns.DeletionTimestamp != nil {
		return
	}
	obj.SetNamespace(ns.Name)
	if st.Get(store.Key(obj)) != nil {
		return
	}
	obj.SetCreationTimestamp(a.clock.Now())
	obj.SetUID(st.uid(a.names, store.Key(obj)))
	st.kind.SetDefaults(obj, false)
	st.kind.Storable(obj)
	a.tables.put(st, nil, obj)
}

// restore makes the ServiceAccount or the ConfigMap anew that every namespace has, if gone is one of them.
func (a *accounts) restore(gone call.Object) {
	put := a.putAccount
	switch gone.(type) {
	case *v1.ServiceAccount:
	case *v1.ConfigMap:
		put = a.putCertificate
	default:
		return
	}
	if ns, ok := (held{a.tables}).Get(registry.Namespaces, gone.GetNamespace()); ok {
		put(ns.(*v1.Namespace))
	}
}
