package workloads

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
)

// StatefulSets returns the validation of statefulsets.
func StatefulSets() validation.Kind {
	return validation.Typed[*appsv1.StatefulSet]{
		Names:  validation.DNSLabel,
		Create: func(p *validation.Problems, set *appsv1.StatefulSet) { checkStatefulSet(p, set, nil) },
		Update: checkStatefulSetUpdate, Status: checkStatefulSetStatus,
	}.Kind()
}

// Deployments returns the validation of deployments.
func Deployments() validation.Kind {
	return validation.Typed[*appsv1.Deployment]{
		Create: checkDeployment,
		Update: func(p *validation.Problems, d, old *appsv1.Deployment) {
			checkDeployment(p, d)
			p.Immutable(d.Spec.Selector, old.Spec.Selector, validation.SpecPath.Child("selector"))
		},
		Status: checkDeploymentStatus,
	}.Kind()
}

// DaemonSets returns the validation of daemonsets.
func DaemonSets() validation.Kind {
	return validation.Typed[*appsv1.DaemonSet]{
		Create: checkDaemonSet,
		Update: func(p *validation.Problems, set, old *appsv1.DaemonSet) {
			p.Immutable(set.Spec.Selector, old.Spec.Selector, validation.SpecPath.Child("selector"))
			checkDaemonSet(p, set)
		},
		Status: checkDaemonSetStatus,
	}.Kind()
}

// ReplicaSets returns the validation of replicasets.
func ReplicaSets() validation.Kind {
	return validation.Typed[*appsv1.ReplicaSet]{
		Create: checkReplicaSet,
		Update: func(p *validation.Problems, set, old *appsv1.ReplicaSet) {
			checkReplicaSet(p, set)
			p.Immutable(set.Spec.Selector, old.Spec.Selector, validation.SpecPath.Child("selector"))
		},
		Status: func(p *validation.Problems, set, _ *appsv1.ReplicaSet) { checkReplicaSetStatus(p, &set.Status) },
	}.Kind()
}

// ControllerRevisions returns the validation of controllerrevisions.
func ControllerRevisions() validation.Kind {
	return validation.Typed[*appsv1.ControllerRevision]{
		Again: true, Create: checkRevision,
		Update: func(p *validation.Problems, revision, old *appsv1.ControllerRevision) {
			p.NotNegative(revision.Revision, nil, "revision")
			p.Immutable(revision.Data, old.Data, field.NewPath("data"))
		},
	}.Kind()
}

// Jobs returns the validation of jobs.
func Jobs() validation.Kind {
	return validation.Typed[*batchv1.Job]{Create: checkJob, Update: checkJobUpdate, Status: checkJobStatus}.Kind()
}
