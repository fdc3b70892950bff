package deletion

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	batchv1beta1 "k8s.io/api/batch/v1beta1"
	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	eventsv1beta1 "k8s.io/api/events/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// defaultPropagation is the policy of the kinds that have one of their own, as their
// strategies' DefaultGarbageCollectionPolicy gives it. Jobs and replication controllers
// leave their pods alone unless told otherwise. Events ("") never get a finalizer.
// All others are deleted in the background.
var defaultPropagation = map[schema.GroupVersionResource]metav1.DeletionPropagation{
	v1.SchemeGroupVersion.WithResource("replicationcontrollers"): metav1.DeletePropagationOrphan,
	batchv1.SchemeGroupVersion.WithResource("jobs"):              metav1.DeletePropagationOrphan,
	batchv1beta1.SchemeGroupVersion.WithResource("cronjobs"):     metav1.DeletePropagationOrphan,
	v1.SchemeGroupVersion.WithResource("events"):                 "",
	eventsv1.SchemeGroupVersion.WithResource("events"):           "",
	eventsv1beta1.SchemeGroupVersion.WithResource("events"):      "",
}

// Propagation returns how to treat the dependents of the object. The options decide;
// then a finalizer that the object already has; then the default of its kind.
// Upstream: registry/generic/registry shouldOrphanDependents, shouldDeleteDependentsInForeground, v1.37.
func Propagation(resource schema.GroupVersionResource, finalizers []string, opts metav1.DeleteOptions) metav1.DeletionPropagation {
	policy, own := defaultPropagation[resource]
	switch {
	case own && policy == "":
		return metav1.DeletePropagationBackground
	case opts.OrphanDependents != nil: //nolint:staticcheck // deprecated, and clients still send it
		if *opts.OrphanDependents { //nolint:staticcheck // as above
			return metav1.DeletePropagationOrphan
		}
		return metav1.DeletePropagationBackground
	case opts.PropagationPolicy != nil:
		return *opts.PropagationPolicy
	}
	for _, f := range finalizers {
		switch f {
		case metav1.FinalizerOrphanDependents:
			return metav1.DeletePropagationOrphan
		case metav1.FinalizerDeleteDependents:
			return metav1.DeletePropagationForeground
		}
	}
	if own {
		return policy
	}
	return metav1.DeletePropagationBackground
}

// WithPropagation returns the finalizers of an object that is deleted with this policy. They
// stay as they are if the right ones are there already.
// Upstream: registry/generic/registry deletionFinalizersForGarbageCollection, v1.37.
func WithPropagation(finalizers []string, policy metav1.DeletionPropagation) []string {
	orphan, foreground := policy == metav1.DeletePropagationOrphan, policy == metav1.DeletePropagationForeground
	if slices.Contains(finalizers, metav1.FinalizerOrphanDependents) == orphan &&
		slices.Contains(finalizers, metav1.FinalizerDeleteDependents) == foreground {
		return finalizers
	}
	changed := slices.DeleteFunc(slices.Clone(finalizers), func(f string) bool {
		return f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents
	})
	switch {
	case orphan:
		changed = append(changed, metav1.FinalizerOrphanDependents)
	case foreground:
		changed = append(changed, metav1.FinalizerDeleteDependents)
	}
	return changed
}

// NamespacePropagation returns the propagation for a namespace, which has rules of its own:
// orphanDependents=false means the foreground.
// Upstream: registry/core/namespace/storage shouldHaveOrphanFinalizer,
// shouldHaveDeleteDependentsFinalizer, v1.37.
func NamespacePropagation(finalizers []string, opts metav1.DeleteOptions) metav1.DeletionPropagation {
	if orphan := opts.OrphanDependents; orphan != nil && !*orphan { //nolint:staticcheck // deprecated, and clients still send it
		return metav1.DeletePropagationForeground
	}
	return Propagation(v1.SchemeGroupVersion.WithResource("namespaces"), finalizers, opts)
}

// Warning returns what the client is told of the deletion of a job that leaves its pods, though the client did not say so; "" of all others.
// Upstream: registry/batch/job/storage Delete and DeleteCollection, v1.37.
func Warning(resource schema.GroupVersionResource, opts metav1.DeleteOptions) string {
	//nolint:staticcheck // clients may still use the deprecated field
	if resource.GroupResource() != batchv1.Resource("jobs") || opts.PropagationPolicy != nil || opts.OrphanDependents != nil {
		return ""
	}
	return "child pods are preserved by default when jobs are deleted; " +
		"set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning"
}
