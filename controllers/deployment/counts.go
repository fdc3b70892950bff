package deployment

import (
	"math"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// replicaSets returns the resource replicasets.
func replicaSets() schema.GroupVersionResource {
	return appsv1.SchemeGroupVersion.WithResource("replicasets")
}

// wanted returns the number of pods that a ReplicaSet is to have.
func wanted(set *appsv1.ReplicaSet) int32 {
	if set.Spec.Replicas == nil {
		return 1
	}
	return *set.Spec.Replicas
}

// desired returns the number of pods that the Deployment is to have.
func (r *rollout) desired() int32 {
	if r.d.Spec.Replicas == nil {
		return 1
	}
	return *r.d.Spec.Replicas
}

// sumOf adds up a number of all ReplicaSets. nil counts 0.
func sumOf(sets []*appsv1.ReplicaSet, number func(*appsv1.ReplicaSet) int32) (sum int32) {
	for _, set := range sets {
		if set != nil {
			sum += number(set)
		}
	}
	return sum
}

func available(set *appsv1.ReplicaSet) int32 { return set.Status.AvailableReplicas }

// active returns the ReplicaSets that are to have pods.
// Upstream: deployment_util.go FilterActiveReplicaSets, v1.37.
func active(sets []*appsv1.ReplicaSet) []*appsv1.ReplicaSet {
	return slices.DeleteFunc(slices.Clone(sets), func(set *appsv1.ReplicaSet) bool { return set == nil || wanted(set) == 0 })
}

// byAge orders ReplicaSets, the oldest first.
// Upstream: controller_utils.go ReplicaSetsByCreationTimestamp, v1.37.
func byAge(a, b *appsv1.ReplicaSet) int {
	if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
		return c
	}
	return strings.Compare(a.Name, b.Name)
}

// limits returns how many pods there may be more than desired, and how many fewer may be available. One of the two is at least 1.
// Upstream: deployment_util.go ResolveFenceposts, MaxSurge, MaxUnavailable, v1.37.
func (r *rollout) limits() (surge, unavailable int32) {
	rolling := r.d.Spec.Strategy.RollingUpdate
	if r.d.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType || rolling == nil {
		return 0, 0
	}
	surge = scaled(rolling.MaxSurge, r.desired(), true)
	unavailable = scaled(rolling.MaxUnavailable, r.desired(), false)
	if surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	return surge, min(unavailable, r.desired())
}

// scaled returns a number, or the percentage of all. nil is 0.
func scaled(n *intstr.IntOrString, all int32, roundUp bool) int32 {
	if n == nil {
		return 0
	}
	value, err := intstr.GetScaledValueFromIntOrPercent(n, int(all), roundUp)
	if err != nil {
		return 0 // the API server refuses such values
	}
	return int32(value)
}

// hasDeadline reports whether the Deployment says how long it may take to make progress.
// Upstream: deployment_util.go HasProgressDeadline, v1.37.
func (r *rollout) hasDeadline() bool {
	return r.d.Spec.ProgressDeadlineSeconds != nil && *r.d.Spec.ProgressDeadlineSeconds != math.MaxInt32
}
