package strategy

import (
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

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
// Upstream: registry/core/pod preserveOldObservedGeneration, v1.37.
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

// PodTemplate returns the template of the pods that an object makes, nil if it makes
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

// templateGeneration returns how often a DaemonSet's template has changed, which its annotation says; 0 if it does not. Clients
// cannot set it once the object exists.
// Upstream: registry/apps/daemonset/strategy.go PrepareForUpdate, apis/apps/v1/conversion.go, v1.37.
func templateGeneration(set *appsv1.DaemonSet) int64 {
	n, err := strconv.ParseInt(set.Annotations[appsv1.DeprecatedTemplateGeneration], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func setTemplateGeneration(set *appsv1.DaemonSet, n int64) {
	set.Annotations = maps.Clone(set.Annotations) // it may be that of the object before
	metav1.SetMetaDataAnnotation(&set.ObjectMeta, appsv1.DeprecatedTemplateGeneration, strconv.FormatInt(n, 10))
}

// generateSelector gives a Job the selector of its UID and its pods the labels, so that it selects no other's pods. Labels that a
// client has set stay, and are refused if they are others.
// Upstream: registry/batch/job/strategy.go generateSelector, v1.37.
func generateSelector(job *batchv1.Job) {
	for _, label := range []string{"job-name", batchv1.JobNameLabel} {
		if _, has := job.Spec.Template.Labels[label]; !has {
			metav1.SetMetaDataLabel(&job.Spec.Template.ObjectMeta, label, job.Name)
		}
	}
	for _, label := range []string{"controller-uid", batchv1.ControllerUidLabel} {
		if _, has := job.Spec.Template.Labels[label]; !has {
			metav1.SetMetaDataLabel(&job.Spec.Template.ObjectMeta, label, string(job.UID))
		}
	}
	if job.Spec.Selector == nil {
		job.Spec.Selector = &metav1.LabelSelector{}
	}
	if _, has := job.Spec.Selector.MatchLabels[batchv1.ControllerUidLabel]; !has {
		if job.Spec.Selector.MatchLabels == nil {
			job.Spec.Selector.MatchLabels = map[string]string{}
		}
		job.Spec.Selector.MatchLabels[batchv1.ControllerUidLabel] = string(job.UID)
	}
}
