package deployment

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
)

// rolloutRolling gives the newest ReplicaSet more pods, or the others fewer, within the limits of the strategy.
// Upstream: rolling.go rolloutRolling, v1.37.
func (r *rollout) rolloutRolling(ctx context.Context) error {
	newSet, old, err := r.getNewReplicaSet(ctx, true)
	if err != nil {
		return err
	}
	scaled, err := r.reconcileNewReplicaSet(ctx, newSet)
	if err == nil && !scaled {
		scaled, err = r.reconcileOldReplicaSets(ctx, active(old), newSet)
	}
	if err != nil {
		return err
	}
	if !scaled && r.isComplete(&r.d.Status) {
		if err := r.cleanup(ctx, old); err != nil {
			return err
		}
	}
	return r.syncRolloutStatus(ctx, newSet)
}

// reconcileNewReplicaSet scales the newest ReplicaSet, and reports whether it had to.
// Upstream: rolling.go reconcileNewReplicaSet, v1.37.
func (r *rollout) reconcileNewReplicaSet(ctx context.Context, newSet *appsv1.ReplicaSet) (scaled bool, err error) {
	switch n := wanted(newSet); {
	case n == r.desired():
		return false, nil
	case n > r.desired():
		return r.scale(ctx, newSet, r.desired())
	}
	return r.scale(ctx, newSet, r.newReplicas(r.all, newSet))
}

// reconcileOldReplicaSets takes pods from the old ReplicaSets: first such as are not healthy, then as many as need not be
// available. It reports whether it took any.
// Upstream: rolling.go reconcileOldReplicaSets, v1.37.
func (r *rollout) reconcileOldReplicaSets(ctx context.Context, old []*appsv1.ReplicaSet, newSet *appsv1.ReplicaSet) (scaled bool, err error) {
	if sumOf(old, wanted) == 0 {
		return false, nil
	}
	_, unavailable := r.limits()
	minAvailable := r.desired() - unavailable
	newUnavailable := wanted(newSet) - available(newSet)
	most := sumOf(r.all, wanted) - minAvailable - newUnavailable
	if most <= 0 {
		return false, nil
	}
	slices.SortFunc(old, byAge)
	unhealthy := func(set *appsv1.ReplicaSet) int32 { return wanted(set) - available(set) }
	first, old, err := r.take(ctx, old, most, unhealthy)
	if err != nil {
		return false, err
	}
	second, _, err := r.take(ctx, old, sumOf(r.all, available)-minAvailable, wanted)
	return first || second, err
}

// take scales ReplicaSets down, by at most so many pods in all (most) and in each set (from). It returns the sets as they are afterwards.
// Upstream: rolling.go cleanupUnhealthyReplicas, scaleDownOldReplicaSetsForRollingUpdate, v1.37.
func (r *rollout) take(ctx context.Context, old []*appsv1.ReplicaSet, most int32, from func(*appsv1.ReplicaSet) int32) (taken bool,
	now []*appsv1.ReplicaSet, err error) {
	now = slices.Clone(old)
	for i, set := range now {
		n := min(most, from(set))
		if n <= 0 {
			continue
		}
		if _, err := r.scale(ctx, set, wanted(set)-n); err != nil {
			return taken, now, err
		}
		if at := slices.IndexFunc(r.all, func(other *appsv1.ReplicaSet) bool { return other.UID == set.UID }); at >= 0 {
			now[i] = r.all[at]
		}
		most, taken = most-n, true
	}
	return taken, now, nil
}
