package strategy

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// The prepare functions are what single kinds do beyond the rule for all: before
// they run, the server has dropped the status of a new object, and kept the
// status on an update and the spec on a status update.

// PrepareForCreate gives a new object the status it begins with.
// Upstream: PrepareForCreate of the kinds' strategies, v1.36.
func PrepareForCreate(obj runtime.Object, now metav1.Time) {
	switch o := obj.(type) {
	case *v1.PersistentVolumeClaim:
		o.Status = v1.PersistentVolumeClaimStatus{Phase: v1.ClaimPending}
		prepareDataSources(&o.Spec, nil)
	case *v1.PersistentVolume:
		o.Status = v1.PersistentVolumeStatus{Phase: v1.VolumePending, LastPhaseTransitionTime: &now}
	case *v1.Pod:
		o.Status = newPodStatus(&o.Spec, o.Status.QOSClass, now)
		dropDisabledPodFields(&o.Spec)
		mergeLabelKeys(o)
	case *v1.Namespace:
		o.Status.Phase = v1.NamespaceActive
		defaultNamespace(o)
	case *v1.Node: // a feature that was given up
		o.Spec.ConfigSource, o.Status.Config = nil, nil //nolint:staticcheck // deprecated, and dropped
	default:
		if t := PodTemplate(obj); t != nil {
			dropDisabledPodFields(&t.Spec)
		}
	}
}

// PrepareForUpdate brings an update into the form that is stored.
// Upstream: PrepareForUpdate of the kinds' strategies, v1.36.
func PrepareForUpdate(obj, old runtime.Object, _ metav1.Time) {
	switch o := obj.(type) {
	case *v1.PersistentVolumeClaim:
		if was, ok := old.(*v1.PersistentVolumeClaim); ok {
			prepareDataSources(&o.Spec, &was.Spec)
		}
	case *v1.Pod:
		if was, ok := old.(*v1.Pod); ok {
			keepAdmitted(&o.Spec, &was.Spec)
		}
		dropDisabledPodFields(&o.Spec)
	case *v1.Node:
		o.Spec.ConfigSource = nil //nolint:staticcheck // deprecated, and dropped
	default:
		if t := PodTemplate(obj); t != nil {
			dropDisabledPodFields(&t.Spec)
		}
	}
}

// PrepareForStatusUpdate brings a status update into the form that is stored.
// Upstream: PrepareForUpdate of the kinds' status strategies, v1.36.
func PrepareForStatusUpdate(obj, old runtime.Object, now metav1.Time) {
	switch o := obj.(type) {
	case *v1.PersistentVolume:
		if was, ok := old.(*v1.PersistentVolume); ok {
			stampPhase(&o.Status, &was.Status, now)
		}
	case *v1.Pod:
		if was, ok := old.(*v1.Pod); ok {
			o.DeletionTimestamp = was.DeletionTimestamp
			setDefault(&o.Status.QOSClass, was.Status.QOSClass)
			keepObservedGeneration(&o.Status, &was.Status)
			o.Status.NodeAllocatableResourceClaimStatuses = nil // behind a feature gate
		}
	case *v1.Node:
		o.Status.Config = nil
	}
}

// stampPhase notes when a volume's phase changed, unless the client says so.
func stampPhase(status, old *v1.PersistentVolumeStatus, now metav1.Time) {
	said := status.LastPhaseTransitionTime
	switch {
	case status.Phase == old.Phase && said == nil:
		status.LastPhaseTransitionTime = old.LastPhaseTransitionTime
	case status.Phase != old.Phase && (said == nil || said.Equal(old.LastPhaseTransitionTime)):
		status.LastPhaseTransitionTime = &now
	}
}

// keepAdmitted fills in what admission wrote into the pod when it was created,
// where an update that came from the original manifest leaves it out.
func keepAdmitted(spec, old *v1.PodSpec) {
	if spec.Priority == nil && spec.PriorityClassName == old.PriorityClassName {
		spec.Priority = old.Priority
	}
	if spec.PreemptionPolicy == nil {
		spec.PreemptionPolicy = old.PreemptionPolicy
	}
	AddDefaultTolerations(spec)
}

// keepObservedGeneration fills in which generation a status and its conditions are
// about, where a client leaves it out.
// Upstream: registry/core/pod preserveOldObservedGeneration, v1.36.
func keepObservedGeneration(status, old *v1.PodStatus) {
	setDefault(&status.ObservedGeneration, old.ObservedGeneration)
	seen := map[v1.PodConditionType]int{} // conditions of that type so far: there may be several
	for i := range status.Conditions {
		c, n := &status.Conditions[i], 0
		for j := range old.Conditions {
			if was := &old.Conditions[j]; was.Type == c.Type {
				if n == seen[c.Type] {
					setDefault(&c.ObservedGeneration, was.ObservedGeneration)
				}
				n++
			}
		}
		seen[c.Type]++
	}
}

// PodTemplate is the template of the pods that an object makes, nil if it makes
// none.
func PodTemplate(obj runtime.Object) *v1.PodTemplateSpec {
	switch o := obj.(type) {
	case *appsv1.StatefulSet:
		return &o.Spec.Template
	case *appsv1.Deployment:
		return &o.Spec.Template
	case *appsv1.DaemonSet:
		return &o.Spec.Template
	case *appsv1.ReplicaSet:
		return &o.Spec.Template
	case *batchv1.Job:
		return &o.Spec.Template
	}
	return nil
}
