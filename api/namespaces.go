package api

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/validation/cluster"
	"github.com/storagesim/storagesim/api/registry"
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

// deleteNamespace begins the end of a namespace. It is Terminating until its
// spec.finalizers are removed through the subresource finalize, as the namespace
// controller does when it has emptied it. Then it is deleted as anything else.
// Upstream: registry/core/namespace/storage REST.Delete, v1.37.
func (d *deleter) deleteNamespace(r request, st *table, old *v1.Namespace, opts metav1.DeleteOptions) (outcome, error) {
	if err := r.otherPreconditions(old, opts.Preconditions, "Precondition failed"); err != nil {
		return outcome{}, err
	}
	switch old.Name {
	case metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic:
		return outcome{}, apierrors.NewForbidden(registry.Namespaces.GroupResource(), old.Name, fmt.Errorf("this namespace may not be deleted"))
	}
	switch {
	case old.DeletionTimestamp != nil && len(old.Spec.Finalizers) > 0:
		return outcome{old: old, new: old}, nil
	case old.DeletionTimestamp != nil:
		return d.markOrRemove(r, st, old, opts)
	}
	ns := old.DeepCopy()
	now := d.clock.now()
	ns.DeletionTimestamp, ns.Status.Phase = &now, v1.NamespaceTerminating
	ns.Finalizers = withPropagation(ns.Finalizers, namespacePropagation(r.kind, ns.Finalizers, opts))
	if !r.dryRun {
		d.writes.tables.put(st, old, ns)
	}
	return outcome{old: old, new: ns}, nil
}

// otherPreconditions checks preconditions, as checkPreconditions does, with the error texts for
// namespaces and for kinds whose deletion begins with a step of their own.
func (r request) otherPreconditions(old call.Object, p *metav1.Preconditions, failed string) error {
	switch {
	case p != nil && p.UID != nil && *p.UID != old.GetUID():
		return r.conflict(fmt.Errorf("%s: UID in precondition: %v, UID in object meta: %v", failed, *p.UID, old.GetUID()))
	case p != nil && p.ResourceVersion != nil && *p.ResourceVersion != old.GetResourceVersion():
		return r.conflict(fmt.Errorf("%s: ResourceVersion in precondition: %v, ResourceVersion in object meta: %v",
			failed, *p.ResourceVersion, old.GetResourceVersion()))
	}
	return nil
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
		if equality.Semantic.DeepEqual(old, ns) {
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
