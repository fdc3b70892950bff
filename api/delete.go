package api

import (
	"errors"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

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
	r.DryRun = len(opts.DryRun) > 0
	out, err := d.deleteAsked(r, opts)
	switch {
	case err != nil:
		return nil, err
	case out.new != nil || r.Kind.AnswersDeleted:
		return r.Kind.Given(out.answer(), r.shared), nil
	}
	status := success()
	status.Details = &metav1.StatusDetails{Name: out.last.GetName(), Group: r.Kind.GVR.Group, Kind: r.Kind.GVR.Resource, UID: out.last.GetUID()}
	return status, nil
}

// deleteAsked deletes an object that webhooks were asked about, once more if it was written meanwhile.
func (d *deleter) deleteAsked(r request, opts metav1.DeleteOptions) (outcome, error) {
	for {
		var asked call.Object // nil if none was to be asked
		if d.writes.prepare.webhooks.known.Load() != nil && r.Sub == "" {
			if asked = d.writes.tables.stored(r.Address); asked != nil {
				if err := d.ask(r, asked, opts); err != nil {
					return outcome{}, d.writes.reports.refuse(r, err)
				}
			}
		}
		out, err := d.writes.writeLocked(r, func(st *table) (outcome, error) {
			old := st.Get(store.KeyOf(r.Namespace, r.Name))
			switch {
			case old == nil:
				return outcome{}, r.NotFound()
			case asked != nil && asked.GetResourceVersion() != old.GetResourceVersion():
				return outcome{}, errStale
			}
			if err := r.CheckUnsafe(opts); err != nil {
				return outcome{}, err
			}
			if ns, ok := old.(*v1.Namespace); ok {
				return d.deleteNamespace(r, st, ns, opts)
			}
			return d.markOrRemove(r, st, old, opts)
		})
		if !errors.Is(err, errStale) {
			return out, err
		}
		if err := r.ended(); err != nil {
			return outcome{}, d.writes.reports.refuse(r, err)
		}
	}
}

// preconditionFailed begins the message of a namespace's deletion that a precondition refuses.
const preconditionFailed = "Precondition failed"

// ask asks webhooks about a deletion, unless a precondition refuses it, or it changes nothing since the object is being deleted already.
// Upstream: registry/generic/registry Store.Delete, which asks them last, v1.37.
func (d *deleter) ask(r request, old call.Object, opts metav1.DeleteOptions) error {
	check := func() error { return r.CheckDeletion(old, opts.Preconditions) }
	if _, ok := old.(*v1.Namespace); ok {
		check = func() error { return r.CheckMarking(old, opts.Preconditions, preconditionFailed) }
	}
	if err := check(); err != nil {
		return err
	}
	if _, _, pending := deletion.Begin(d.clock, old.DeepCopyObject().(call.Object), opts.GracePeriodSeconds); pending {
		return nil
	}
	return d.writes.prepare.webhooks.delete(r, old, opts)
}

// success returns the answer to a request that has no object to answer with.
func success() *metav1.Status { return &metav1.Status{Status: metav1.StatusSuccess} }

// markOrRemove removes an object that nothing holds at once. One with finalizers, and a
// pod, is marked first; if nothing holds it then, it is removed as the last step of the
// same request: followers see both.
// Upstream: registry/generic/registry Store.Delete and
// updateForGracefulDeletionAndFinalizers, v1.37.
func (d *deleter) markOrRemove(r request, st *table, old call.Object, opts metav1.DeleteOptions) (outcome, error) {
	if err := r.CheckDeletion(old, opts.Preconditions); err != nil {
		return outcome{}, err
	}
	obj := old.DeepCopyObject().(call.Object)
	grace, graceful, pending := deletion.Begin(d.clock, obj, opts.GracePeriodSeconds)
	if pending {
		return outcome{old: old, new: old}, nil
	}
	if begin := r.Kind.BeforeDelete; begin != nil && obj.GetDeletionTimestamp() == nil {
		now := d.clock.Now()
		obj.SetDeletionTimestamp(&now)
		begin(obj)
		if !r.DryRun {
			d.writes.tables.put(st, old, obj)
		}
		return outcome{old: old, new: obj}, nil
	}
	obj.SetFinalizers(deletion.WithPropagation(obj.GetFinalizers(), deletion.Propagation(r.Kind.GVR, obj.GetFinalizers(), opts)))
	held := len(obj.GetFinalizers()) > 0
	switch {
	case graceful || held:
	case len(old.GetFinalizers()) > 0 && r.DryRun: // see CheckStripped
		return outcome{old: old, new: r.Kind.NewObject()}, nil
	default:
		if err := r.CheckStripped(old, opts.Preconditions); err != nil {
			return outcome{}, err
		}
		return d.takeOut(r, st, old, old), nil
	}
	if !graceful {
		deletion.Mark(d.clock, obj)
	}
	if semantic.Equal(old, obj) {
		return outcome{old: old, new: old}, nil
	}
	if !r.DryRun {
		d.writes.tables.put(st, old, obj)
	}
	if held || grace > 0 {
		return outcome{old: old, new: obj}, nil
	}
	out := d.takeOut(r, st, obj, obj)
	out.old = old
	return out, nil
}

// takeOut removes the stored object. last is the state that followers see.
func (d *deleter) takeOut(r request, st *table, stored, last call.Object) outcome {
	last = last.DeepCopyObject().(call.Object)
	if !r.DryRun {
		d.writes.tables.remove(st, stored, last)
	}
	return outcome{old: stored, last: last}
}

// deleteCollectionPageSize is the limit of the lists by which upstream deletes. So a version in their options is an exact one. More objects are
// deleted by the next request.
// Upstream: registry/generic/registry deleteCollectionPageSize, v1.37.2.
const deleteCollectionPageSize = 10000

// deleteCollection deletes what the options of a list select, one object after
// the other, and answers with the list. Namespaces go one by one.
// Upstream: registry/generic/registry Store.DeleteCollection, v1.37.
func (d *deleter) deleteCollection(r request, opts metav1.DeleteOptions, listOpts metav1.ListOptions) (runtime.Object, error) {
	if r.Kind.Namespaced && r.Namespace == "" || r.Kind.GVR == registry.Namespaces {
		return nil, d.writes.reports.refuse(r, apierrors.NewMethodNotSupported(r.Kind.GVR.GroupResource(), r.Verb))
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
		r.warnOfDeletion(opts)
		err = wrong
	}
	if err != nil {
		return nil, d.writes.reports.refuse(r, err)
	}
	return list, meta.EachListItem(list, func(item runtime.Object) error {
		one := r
		one.Namespace, one.Name = item.(call.Object).GetNamespace(), item.(call.Object).GetName()
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
	if err := r.CheckMarking(old, opts.Preconditions, preconditionFailed); err != nil {
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
	if !r.DryRun {
		d.writes.tables.put(st, old, ns)
	}
	return outcome{old: old, new: ns}, nil
}

// warnOfDeletion tells the client what is to be said of a deletion with these options, and nothing if they are not valid.
// Upstream: apiserver endpoints/handlers DeleteResource and DeleteCollection, v1.37.2.
func (r request) warnOfDeletion(opts metav1.DeleteOptions) {
	if text := deletion.Warning(r.Kind.GVR, opts); text != "" && r.warn != nil && call.CheckDeleteOptions(opts) == nil {
		r.warn(text)
	}
}
