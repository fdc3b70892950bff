// Package deletion decides what a deletion does to an object: grace.go how long a pod's node has to stop it, propagation.go what becomes of
// the dependents of the object, by the garbage collector's finalizer that it gets. Nothing is stored here. Begin at [Begin] and [Propagation].
package deletion

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/api/internal/call"
)

// Begin marks a pod as being deleted, with the grace period that it gets, or
// shortens that period. Other kinds have none: graceful is false. pending means that the
// period goes on as it is, and that the request changes nothing.
// Upstream: rest.BeforeDelete, v1.37.
func Begin(now call.Clock, obj call.Object, asked *int64) (grace int64, graceful, pending bool) {
	pod, ok := obj.(*v1.Pod)
	if !ok {
		return 0, false, false
	}
	if pod.DeletionTimestamp == nil {
		grace = gracePeriod(pod, asked)
		ts := now.Now()
		ts.Time = ts.Add(time.Duration(grace) * time.Second)
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &ts, &grace
		countDeletion(pod)
		return grace, true, false
	}
	left := pod.DeletionGracePeriodSeconds
	switch {
	case left == nil || *left == 0:
		return 0, false, false
	case asked == nil || notNegative(*asked) >= *left:
		return 0, false, true
	}
	grace = notNegative(*asked)
	shorten(now, pod, *left, grace)
	return grace, true, false
}

// shorten moves the end of a pod's grace period, but not into the past. If all of a
// period has passed already, a second is left: the kubelet ends the pod, not the server.
// Upstream: rest.BeforeDelete, v1.37.
func shorten(now call.Clock, pod *v1.Pod, left, grace int64) {
	ts := *pod.DeletionTimestamp
	ts.Time = ts.Add(time.Duration(grace-left) * time.Second)
	if ts.Time.Before(now()) {
		ts = now.Now()
		grace = min(grace, 1)
	}
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &ts, &grace
}

// Mark marks an object as being deleted: only finalizers hold it from now on.
// Upstream: registry/generic/registry markAsDeleting, v1.37.
func Mark(now call.Clock, obj call.Object) {
	if obj.GetDeletionTimestamp() == nil {
		countDeletion(obj)
		ts := now.Now()
		obj.SetDeletionTimestamp(&ts)
	}
	obj.SetDeletionGracePeriodSeconds(new(int64))
}

// countDeletion: the beginning of a deletion counts as a change of the spec.
func countDeletion(obj call.Object) {
	if obj.GetGeneration() > 0 {
		obj.SetGeneration(obj.GetGeneration() + 1)
	}
}

// gracePeriod returns how many seconds a pod's node has to stop it. A pod that is on
// no node, or has ended, needs none. Upstream: podStrategy.CheckGracefulDelete,
// v1.37.
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

// DuringUpdate reports whether nothing, such as a finalizer, keeps an object that is being
// deleted any longer, once obj is stored in place of old.
// Upstream: registry/generic/registry ShouldDeleteDuringUpdate, and core/namespace/storage ShouldDeleteNamespaceDuringUpdate, v1.37.2.
func DuringUpdate(obj, old call.Object) bool {
	if ns, ok := obj.(*v1.Namespace); ok && len(ns.Spec.Finalizers) > 0 {
		return false
	}
	grace := old.GetDeletionGracePeriodSeconds()
	return old.GetDeletionTimestamp() != nil && len(obj.GetFinalizers()) == 0 && (grace == nil || *grace == 0)
}
