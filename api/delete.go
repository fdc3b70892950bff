package api

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// delete removes an object, or marks it as being deleted if a finalizer or its
// node has to finish with it first. It may be repeated.
func (s *Server) delete(r *request, opts metav1.DeleteOptions) error {
	if err := r.checkDeleteOptions(opts); err != nil {
		return s.refuse(r, err)
	}
	_, err := s.writeLocked(r, func(st *store) (outcome, error) {
		old, ok := st.items[keyOf(r.namespace, r.name)]
		if !ok {
			return outcome{}, r.notFound()
		}
		return s.markOrRemove(r, st, old, opts)
	})
	return err
}

func (s *Server) markOrRemove(r *request, st *store, old object, opts metav1.DeleteOptions) (outcome, error) {
	if err := r.checkPreconditions(old, opts.Preconditions); err != nil {
		return outcome{}, err
	}
	if ns, ok := old.(*v1.Namespace); ok {
		return s.terminateNamespace(r, st, ns)
	}
	if old.GetDeletionTimestamp() != nil {
		return s.deleteAgain(r, st, old, opts.GracePeriodSeconds)
	}
	pod, graceful := old.(*v1.Pod)
	if !graceful && len(old.GetFinalizers()) == 0 {
		last := old.DeepCopyObject().(object)
		if !r.dryRun {
			s.remove(st, old, last)
		}
		return outcome{old: old, last: last}, nil
	}
	grace := int64(0)
	if graceful {
		grace = gracePeriod(pod, opts.GracePeriodSeconds)
	}
	ts := s.now()
	ts.Time = ts.Add(time.Duration(grace) * time.Second)
	return s.mark(r, st, old, ts, grace)
}

// mark sets the deletion timestamp. An object that nothing holds is then
// removed, as the last step of the same request: followers see both.
// Upstream: registry/generic/registry Store.Delete, v1.36.
func (s *Server) mark(r *request, st *store, old object, ts metav1.Time, grace int64) (outcome, error) {
	obj := old.DeepCopyObject().(object)
	obj.SetDeletionTimestamp(&ts)
	obj.SetDeletionGracePeriodSeconds(&grace)
	if obj.GetGeneration() > 0 && old.GetDeletionTimestamp() == nil {
		obj.SetGeneration(obj.GetGeneration() + 1)
	}
	held := grace > 0 || len(obj.GetFinalizers()) > 0
	if !r.dryRun {
		s.put(st, old, obj)
	}
	if held {
		return outcome{old: old, new: obj}, nil
	}
	last := obj.DeepCopyObject().(object)
	if !r.dryRun {
		s.remove(st, obj, last)
	}
	return outcome{old: old, last: last}, nil
}

// deleteAgain: a repeated deletion can only shorten the grace period; the
// kubelet ends it with 0. Upstream: rest.BeforeDelete, v1.36.
func (s *Server) deleteAgain(r *request, st *store, old object, asked *int64) (outcome, error) {
	left := old.GetDeletionGracePeriodSeconds()
	if _, graceful := old.(*v1.Pod); !graceful || left == nil || asked == nil {
		return outcome{old: old, new: old}, nil
	}
	grace := notNegative(*asked)
	if grace >= *left {
		return outcome{old: old, new: old}, nil
	}
	ts := *old.GetDeletionTimestamp()
	ts.Time = ts.Add(time.Duration(grace-*left) * time.Second)
	return s.mark(r, st, old, ts, grace)
}

// gracePeriod is how many seconds a pod's node has to stop it. A pod that is on
// no node, or has ended, needs none. Upstream: podStrategy.CheckGracefulDelete,
// v1.36.
func gracePeriod(pod *v1.Pod, asked *int64) int64 {
	if pod.Spec.NodeName == "" || pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed {
		return 0
	}
	grace := int64(0)
	switch {
	case asked != nil:
		grace = *asked
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		grace = *pod.Spec.TerminationGracePeriodSeconds
	}
	return notNegative(grace)
}

// notNegative: a negative grace period is the shortest there is.
func notNegative(grace int64) int64 {
	if grace < 0 {
		return 1
	}
	return grace
}

// checkPreconditions. That the conflict names the kind and not the resource is
// upstream's. Upstream: rest.BeforeDelete, v1.36.
func (r *request) checkPreconditions(old object, p *metav1.Preconditions) error {
	var err error
	switch {
	case p == nil:
		return nil
	case p.UID != nil && *p.UID != old.GetUID():
		err = fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s). "+
			"The object might have been deleted and then recreated", *p.UID, old.GetUID())
	case p.ResourceVersion != nil && *p.ResourceVersion != old.GetResourceVersion():
		err = fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). "+
			"The object might have been modified", *p.ResourceVersion, old.GetResourceVersion())
	default:
		return nil
	}
	return apierrors.NewConflict(schema.GroupResource{Group: r.kind.gvk.Group, Resource: r.kind.gvk.Kind}, r.name, err)
}

// checkDeleteOptions refuses what means nothing. A valid propagation policy is
// accepted and does nothing: there is no garbage collector to act on it.
func (r *request) checkDeleteOptions(opts metav1.DeleteOptions) error {
	var errs field.ErrorList
	if opts.PropagationPolicy != nil {
		if opts.OrphanDependents != nil { //nolint:staticcheck // deprecated, and clients still send it
			errs = append(errs, field.Invalid(field.NewPath("propagationPolicy"), *opts.PropagationPolicy,
				"orphanDependents and deletionPropagation cannot be both set"))
		}
		switch *opts.PropagationPolicy {
		case metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan:
		default:
			errs = append(errs, field.NotSupported(field.NewPath("propagationPolicy"), *opts.PropagationPolicy,
				[]metav1.DeletionPropagation{metav1.DeletePropagationForeground, metav1.DeletePropagationBackground, metav1.DeletePropagationOrphan}))
		}
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(metav1.SchemeGroupVersion.WithKind("DeleteOptions").GroupKind(), r.name, errs)
	}
	var err error
	r.dryRun, err = dryRun(r.kind, r.name, opts.DryRun)
	return err
}

// deleteCollection deletes what the options of a list select, one object after
// the other.
func (s *Server) deleteCollection(r *request, opts metav1.DeleteOptions, listOpts metav1.ListOptions) error {
	if r.kind.namespaced && r.namespace == "" {
		return s.refuse(r, apierrors.NewMethodNotSupported(r.kind.gvr.GroupResource(), r.verb))
	}
	sel, err := selectorOf(r.kind, r.namespace, listOpts)
	if err != nil {
		return s.refuse(r, err)
	}
	for _, obj := range s.selected(r.kind, sel) {
		one := *r
		one.namespace, one.name = obj.(object).GetNamespace(), obj.(object).GetName()
		if err := s.delete(&one, opts); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// selected is the objects that sel selects, shared.
func (s *Server) selected(k *kind, sel Selector) []runtime.Object {
	s.mu.RLock()
	defer s.mu.RUnlock()
	f := newFilter(sel)
	st, ok := s.stores[k.gvr]
	if !ok {
		return nil
	}
	return st.list(&f)
}
