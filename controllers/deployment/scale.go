package deployment

import (
	"cmp"
	"context"
	"math"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
)

// scale writes how many pods a ReplicaSet is to have, with an event, and reports whether that is another number than before.
// Upstream: sync.go scaleReplicaSetAndRecordEvent, v1.37.
func (r *rollout) scale(ctx context.Context, set *appsv1.ReplicaSet, n int32) (scaled bool, err error) {
	if wanted(set) == n {
		return false, nil
	}
	return r.scaleReplicaSet(ctx, set, n)
}

// scaleReplicaSet does as scale, and also brings the annotations of the ReplicaSet up to date.
// Upstream: sync.go scaleReplicaSet, v1.37.
func (r *rollout) scaleReplicaSet(ctx context.Context, set *appsv1.ReplicaSet, n int32) (scaled bool, err error) {
	next, was := set.DeepCopy(), wanted(set)
	next.Spec.Replicas = &n
	if !r.setReplicasAnnotations(next) && was == n {
		return false, nil
	}
	if _, err := r.updateReplicaSet(ctx, next); err != nil || was == n {
		return false, err
	}
	word := "down"
	if was < n {
		word = "up"
	}
	r.recorder.Eventf(r.d, v1.EventTypeNormal, "ScalingReplicaSet", "Scaled %s replica set %s from %d to %d", word, set.Name, was, n)
	return true, nil
}

// isScalingEvent reports whether spec.replicas has changed since the ReplicaSets were scaled.
// Upstream: sync.go isScalingEvent, v1.37.
func (r *rollout) isScalingEvent() bool {
	return slices.ContainsFunc(active(r.all), func(set *appsv1.ReplicaSet) bool {
		n, known := number(set, desiredReplicasAnnotation)
		return known && n != r.desired()
	})
}

// syncScale follows spec.replicas without a rollout: of a paused Deployment, or of one that was scaled in the middle of one.
// Upstream: sync.go sync, v1.37.
func (r *rollout) syncScale(ctx context.Context) error {
	newSet, old, err := r.getNewReplicaSet(ctx, false)
	if err != nil {
		return err
	}
	if err := r.scaleAll(ctx, newSet, old); err != nil {
		return err
	}
	if r.d.Spec.Paused {
		if err := r.cleanup(ctx, old); err != nil {
			return err
		}
	}
	return r.syncStatus(ctx, newSet)
}

// scaleAll scales the only ReplicaSet with pods, or in the middle of a rolling update all of them in proportion.
// Upstream: sync.go scale, v1.37.
func (r *rollout) scaleAll(ctx context.Context, newSet *appsv1.ReplicaSet, old []*appsv1.ReplicaSet) error {
	if only := activeOrLatest(newSet, old); only != nil {
		_, err := r.scale(ctx, only, r.desired())
		return err
	}
	if r.isSaturated(newSet) {
		for _, set := range active(old) {
			if _, err := r.scale(ctx, set, 0); err != nil {
				return err
			}
		}
		return nil
	}
	if r.d.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType {
		return nil
	}
	sets := active(r.all)
	for i, n := range r.proportions(sets) {
		if _, err := r.scaleReplicaSet(ctx, sets[i], n); err != nil {
			return err
		}
	}
	return nil
}

// activeOrLatest returns the ReplicaSet to scale if at most one has pods; nil if several have.
// Upstream: deployment_util.go FindActiveOrLatest, v1.37.
func activeOrLatest(newSet *appsv1.ReplicaSet, old []*appsv1.ReplicaSet) *appsv1.ReplicaSet {
	if newSet == nil && len(old) == 0 {
		return nil
	}
	running := active(append(slices.Clone(old), newSet))
	switch {
	case len(running) == 1:
		return running[0]
	case len(running) > 1:
		return nil
	case newSet != nil:
		return newSet
	}
	return slices.MaxFunc(old, byAge)
}

// isSaturated reports whether the newest ReplicaSet has all pods, and all are available.
// Upstream: deployment_util.go IsSaturated, v1.37.
func (r *rollout) isSaturated(set *appsv1.ReplicaSet) bool {
	if set == nil {
		return false
	}
	n, known := number(set, desiredReplicasAnnotation)
	return known && n == r.desired() && wanted(set) == r.desired() && available(set) == r.desired()
}

// proportions sorts the ReplicaSets, the largest first, and returns how many pods each is to have. What rounding leaves is the first one's.
// Upstream: sync.go scale, deployment_util.go GetReplicaSetProportion, v1.37.
func (r *rollout) proportions(sets []*appsv1.ReplicaSet) []int32 {
	allowed := int32(0)
	if surge, _ := r.limits(); r.desired() > 0 {
		allowed = r.desired() + surge
	}
	toAdd := allowed - sumOf(sets, wanted)
	slices.SortFunc(sets, func(a, b *appsv1.ReplicaSet) int {
		age := byAge(a, b)
		if toAdd > 0 {
			age = -age // the newer of two of one size grows first
		}
		return cmp.Or(cmp.Compare(wanted(b), wanted(a)), age)
	})
	sizes, added := make([]int32, len(sets)), int32(0)
	for i, set := range sets {
		sizes[i] = wanted(set)
		if toAdd == 0 {
			continue
		}
		part := r.fraction(set)
		if toAdd > 0 {
			part = min(part, toAdd-added)
		} else {
			part = max(part, toAdd-added)
		}
		sizes[i], added = sizes[i]+part, added+part
	}
	if len(sizes) > 0 && toAdd != added {
		sizes[0] = max(sizes[0]+toAdd-added, 0)
	}
	return sizes
}

// fraction returns by how much a ReplicaSet grows or shrinks if all keep their proportions.
// Upstream: deployment_util.go getReplicaSetFraction, v1.37.
func (r *rollout) fraction(set *appsv1.ReplicaSet) int32 {
	if r.desired() == 0 {
		return -wanted(set)
	}
	surge, _ := r.limits()
	before, known := number(set, maxReplicasAnnotation)
	if !known || before == 0 {
		before = r.d.Status.Replicas
	}
	if before == 0 {
		return 0
	}
	return int32(math.Round(float64(wanted(set)*(r.desired()+surge))/float64(before))) - wanted(set)
}
