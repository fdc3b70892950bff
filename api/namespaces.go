package api

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/api/internal/furniture"
	"github.com/storagesim/storagesim/api/registry"
)

// addNamespace makes one of the namespaces that are always there.
func addNamespace(w *writer, name string) {
	st, err := w.tables.of(registry.Namespaces)
	if err != nil {
		return // the scheme always has namespaces
	}
	ns := furniture.Namespace(name)
	ns.UID, ns.CreationTimestamp = st.uid(w.names, name), w.clock.Now()
	st.kind.Strategy.Default(ns)
	w.tables.put(st, nil, ns)
	w.accounts.add(ns)
}

// finalizeNamespace writes a namespace as an update of its subresource, which client-go's fakes call a creation.
func finalizeNamespace(w *writer, r request, in runtime.Object) (runtime.Object, error) {
	r.Verb = "update" // as a real client puts it
	return update(w, r, in)
}
