package api

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/deletion"
	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/api/store"
	"github.com/storagesim/storagesim/internal/semantic"
)

// deleter removes objects, or marks them as being deleted.
type deleter struct {
	writes *writer
	clock  call.Clock
}

// delete removes an object, or marks it as being deleted if a finalizer or its
// node has to finish with it first. It may be repeated. The answer is the object, or for
// most kinds a Status if it is gone.
// Upstream: registry/generic/registry Store.Delete and finalizeDelete, v1.37.
func (d *deleter) delete(r request, opts metav1.DeleteOptions) (runtime.Object, error) {
	if err := call.CheckDeleteOptions(opts); err != nil {
		return nil, d.writes.reports.refuse(r, err)
	}
	r.dryRun = len(opts.DryRun) > 0
	out, err := d.writes.writeLocked(r, func(st *table) (outcome, error) {
		old := st.Get(store.KeyOf(r.namespace, r.name))
		if old == nil {
			return outcome{}, r.notFound()
		}
		if unsafely := opts.IgnoreStoreReadErrorWithClusterBreakingPotential; unsafely != nil && *unsafely {
			return outcome{}, unsafeDeletion(r)
		}
		if ns, ok := old.(*v1.Namespace); ok {
			return d.deleteNamespace(r, st, ns, opts)
		}
		return d.markOrRemove(r, st, old, opts)
	})
	switch {
	case err != nil:
		return nil, err
	case out.new != nil || r.kind.AnswersDeleted:
		return r.kind.Given(out.answer(), r.shared), nil
	}
	status := success()
	status.Details = &metav1.StatusDetails{Name: out.last.GetName(), Group: r.kind.GVR.Group, Kind: r.kind.GVR.Resource, UID: out.last.GetUID()}
	return status, nil
}

// unsafeDeletion returns the conflict of a deletion that is for objects which cannot be read: there are none here.
// Upstream: apiserver registry/generic/registry corruptObjectDeleter.Delete, v1.37.
func unsafeDeletion(r request) error {
	return r.conflict(fmt.Errorf("StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: "+
		"unsafe deletion is not allowed because the object is decodable from storage", r.storageKey()))
}

// success returns the answer to a request that has no object to answer with.
func success() *metav1.Status { return &metav1.Status{Status: metav1.StatusSuccess} }

// markOrRemove removes an object that nothing holds at once. One with finalizers, and a
// pod, is marked first; if nothing holds it then, it is removed as the last step of the
// same request: followers see both.
// Upstream: registry/generic/registry Store.Delete and
// updateForGracefulDeletionAndFinalizers, v1.37.
func (d *deleter) markOrRemove(r request, st *table, old call.Object, opts metav1.DeleteOptions) (outcome, error) {
	if err := r.checkPreconditions(old, opts.Preconditions); err != nil {
		return outcome{}, err
	}
	obj := old.DeepCopyObject().(call.Object)
	grace, graceful, pending := deletion.Begin(d.clock, obj, opts.GracePeriodSeconds)
	if pending {
		return outcome{old: old, new: old}, nil
	}
	if begin := r.kind.BeforeDelete; begin != nil && obj.GetDeletionTimestamp() == nil {
		now := d.clock.Now()
		obj.SetDeletionTimestamp(&now)
		begin(obj)
		if !r.dryRun {
			d.writes.tables.put(st, old, obj)
		}
		return outcome{old: old, new: obj}, nil
	}
	obj.SetFinalizers(deletion.WithPropagation(obj.GetFinalizers(), deletion.Propagation(r.kind.GVR, obj.GetFinalizers(), opts)))
	held := len(obj.GetFinalizers()) > 0
	switch {
	case graceful || held:
	case len(old.GetFinalizers()) > 0:
		return d.stripped(r, st, old, opts)
	default:
		return d.takeOut(r, st, old, old), nil
	}
	if !graceful {
		deletion.Mark(d.clock, obj)
	}
	if semantic.Equal(old, obj) {
		return outcome{old: old, new: old}, nil
	}
	if !r.dryRun {
		d.writes.tables.put(st, old, obj)
	}
	if held || grace > 0 {
		return outcome{old: old, new: obj}, nil
	}
	out := d.takeOut(r, st, obj, obj)
	out.old = old
	return out, nil
}

// stripped removes an object that only finalizers of another policy held. Upstream takes them away in an update that it gives up, and goes
// on with an empty object in place of the outcome: a precondition then asks for its version, which is empty, and a dry run answers with it.
// Upstream: registry/generic/registry Store.Delete and updateForGracefulDeletionAndFinalizers (errDeleteNow), v1.37.2.
func (d *deleter) stripped(r request, st *table, old call.Object, opts metav1.DeleteOptions) (outcome, error) {
	switch p := opts.Preconditions; {
	case r.dryRun:
		return outcome{old: old, new: r.kind.NewObject()}, nil
	case p != nil && p.ResourceVersion != nil:
		return outcome{}, r.conflict(fmt.Errorf("StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: "+
			"Precondition failed: ResourceVersion in precondition: , ResourceVersion in object meta: %s", r.storageKey(), old.GetResourceVersion()))
	}
	return d.takeOut(r, st, old, old), nil
}

// takeOut removes the stored object. last is the state that followers see.
func (d *deleter) takeOut(r request, st *table, stored, last call.Object) outcome {
	last = last.DeepCopyObject().(call.Object)
	if !r.dryRun {
		d.writes.tables.remove(st, stored, last)
	}
	return outcome{old: stored, last: last}
}

// checkPreconditions. That the conflict names the kind and not the resource is
// upstream's. Upstream: rest.BeforeDelete, v1.37.
func (r request) checkPreconditions(old call.Object, p *metav1.Preconditions) error {
	var err error
	switch {
	case p == nil:
		return nil
	case r.kind.BeforeDelete != nil: // registry/customresourcedefinition REST.Delete
		return r.otherPreconditions(old, p, "precondition failed")
	case p.UID != nil && *p.UID != old.GetUID():
		err = fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s). "+
			"The object might have been deleted and then recreated", *p.UID, old.GetUID())
	case p.ResourceVersion != nil && *p.ResourceVersion != old.GetResourceVersion():
		err = fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). "+
			"The object might have been modified", *p.ResourceVersion, old.GetResourceVersion())
	default:
		return nil
	}
	return apierrors.NewConflict(schema.GroupResource{Group: r.kind.GVK.Group, Resource: r.kind.GVK.Kind}, r.name, err)
}

// deleteCollectionPageSize is the limit of the lists by which upstream deletes. So a version in their options is an exact one. More objects are
// deleted by the next request.
// Upstream: registry/generic/registry deleteCollectionPageSize, v1.37.2.
const deleteCollectionPageSize = 10000

// deleteCollection deletes what the options of a list select, one object after
// the other, and answers with the list. Namespaces go one by one.
// Upstream: registry/generic/registry Store.DeleteCollection, v1.37.
func (d *deleter) deleteCollection(r request, opts metav1.DeleteOptions, listOpts metav1.ListOptions) (runtime.Object, error) {
	if r.kind.Namespaced && r.namespace == "" || r.kind.GVR == registry.Namespaces {
		return nil, d.writes.reports.refuse(r, apierrors.NewMethodNotSupported(r.kind.GVR.GroupResource(), r.verb))
	}
	if listOpts.Limit == 0 {
		listOpts.Limit = deleteCollectionPageSize
	}
	wrong := call.CheckDeleteOptions(opts)
	if wrong != nil {
		listOpts.Continue = "" // a token is read after the options. Upstream: apiserver handlers DeleteCollection, v1.37.2
	}
	list, err := list(d.writes.tables, r, listOpts)
	if err == nil {
		r.warnOfOrphans(opts)
		err = wrong
	}
	if err != nil {
		return nil, d.writes.reports.refuse(r, err)
	}
	return list, meta.EachListItem(list, func(item runtime.Object) error {
		one := r
		one.namespace, one.name = item.(call.Object).GetNamespace(), item.(call.Object).GetName()
		if _, err := d.delete(one, opts); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
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
		return outcome{}, apierrors.NewForbidden(registry.Namespaces.GroupResource(), old.Name, errors.New("this namespace may not be deleted"))
	}
	switch {
	case old.DeletionTimestamp != nil && len(old.Spec.Finalizers) > 0:
		return outcome{old: old, new: old}, nil
	case old.DeletionTimestamp != nil:
		return d.markOrRemove(r, st, old, opts)
	}
	ns := old.DeepCopy()
	now := d.clock.Now()
	ns.DeletionTimestamp, ns.Status.Phase = &now, v1.NamespaceTerminating
	ns.Finalizers = deletion.WithPropagation(ns.Finalizers, deletion.NamespacePropagation(ns.Finalizers, opts))
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

// warnOfOrphans warns of the deletion of jobs that leaves their pods, though the client did not say so.
// Upstream: registry/batch/job/storage Delete and DeleteCollection, v1.37.
func (r request) warnOfOrphans(opts metav1.DeleteOptions) {
	//nolint:staticcheck // clients may still use the deprecated field
	if r.warn == nil || r.kind.GVK.Group != "batch" || r.kind.GVK.Kind != "Job" || opts.PropagationPolicy != nil || opts.OrphanDependents != nil {
		return
	}
	r.warn("child pods are preserved by default when jobs are deleted; " +
		"set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning")
}
