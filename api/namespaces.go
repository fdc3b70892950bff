package api

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/api/internal/validation/cluster"
	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/internal/semantic"
)

// addNamespace makes one of the namespaces that are always there.
func addNamespace(w *writer, name string) {
	st, err := w.tables.of(registry.Namespaces)
	if err != nil {
		return // the scheme always has namespaces
	}
	ns := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: w.names.uid(st, name), CreationTimestamp: w.clock.now(),
	}}
	ns.Spec.Finalizers = []v1.FinalizerName{v1.FinalizerKubernetes}
	st.kind.Strategy.Default(ns)
	w.tables.put(st, nil, ns)
}

// finalizeNamespace sets spec.finalizers and nothing else.
func finalizeNamespace(w *writer, r request, in runtime.Object) (runtime.Object, error) {
	r.verb = "update" // as a real client puts it
	obj, err := r.accept(in)
	if err != nil {
		return nil, w.reports.refuse(r, err)
	}
	errs := cluster.FinalizersOfNamespace(obj.(*v1.Namespace).Spec.Finalizers) // without the lock
	return w.write(r, func(st *table) (outcome, error) {
		old, ok := st.Get(r.name).(*v1.Namespace)
		if !ok {
			return outcome{}, r.notFound()
		}
		if err := r.checkVersion(old, obj); err != nil {
			return outcome{}, err
		}
		ns := old.DeepCopy()
		ns.Spec.Finalizers = obj.(*v1.Namespace).Spec.Finalizers
		if len(errs) > 0 {
			return outcome{}, r.invalid(errs)
		}
		return settleNamespace(w.tables, r, st, old, ns)
	})
}

func settleNamespace(t *tables, r request, st *table, old, ns *v1.Namespace) (outcome, error) {
	if ns.DeletionTimestamp == nil || len(ns.Spec.Finalizers)+len(ns.Finalizers) > 0 {
		if semantic.Equal(old, ns) {
			return outcome{old: old, new: old}, nil
		}
		if !r.dryRun {
			t.put(st, old, ns)
		}
		return outcome{old: old, new: ns}, nil
	}
	if !r.dryRun {
		t.remove(st, old, ns)
	}
	return outcome{old: old, last: ns}, nil
}
