package api

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/api/registry"
)

// addNamespace makes one of the namespaces that are always there.
func addNamespace(w *writer, name string) {
	st, err := w.tables.of(registry.Namespaces)
	if err != nil {
		return // the scheme always has namespaces
	}
	ns := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: st.uid(w.names, name), CreationTimestamp: w.clock.Now(),
	}}
	ns.Spec.Finalizers = []v1.FinalizerName{v1.FinalizerKubernetes}
	st.kind.Strategy.Default(ns)
	w.tables.put(st, nil, ns)
	w.accounts.add(ns)
}

// finalizeNamespace writes a namespace as an update of its subresource, which client-go's fakes call a creation.
func finalizeNamespace(w *writer, r request, in runtime.Object) (runtime.Object, error) {
	r.Verb = "update" // as a real client puts it
	return update(w, r, in)
}
