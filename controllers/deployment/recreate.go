package deployment

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/internal/workload"
)

// rolloutRecreate ends all old pods, and when they are gone it makes the new ones. A volume that only one node may have is free by then.
// Upstream: recreate.go rolloutRecreate, v1.37.
func (r *rollout) rolloutRecreate(ctx context.Context) error {
	newSet, old, err := r.getNewReplicaSet(ctx, false)
	if err != nil {
		return err
	}
	ended := false
	for _, set := range active(old) {
		scaled, err := r.scale(ctx, set, 0)
		if err != nil {
			return err
		}
		ended = ended || scaled
	}
	if ended || r.oldPodsRunning(old) {
		return r.syncRolloutStatus(ctx, newSet)
	}
	if newSet == nil {
		if newSet, old, err = r.getNewReplicaSet(ctx, true); err != nil {
			return err
		}
	}
	if _, err := r.scale(ctx, newSet, r.desired()); err != nil {
		return err
	}
	if r.isComplete(&r.d.Status) {
		if err := r.cleanup(ctx, old); err != nil {
			return err
		}
	}
	return r.syncRolloutStatus(ctx, newSet)
}

// oldPodsRunning reports whether a pod of an older template has not ended yet. One that is being deleted has not.
// Upstream: recreate.go oldPodsRunning, v1.37.
func (r *rollout) oldPodsRunning(old []*appsv1.ReplicaSet) bool {
	for _, set := range old {
		for _, pod := range r.podsOf(set) {
			if !workload.HasEnded(pod) || pod.Status.Phase == v1.PodUnknown {
				return true
			}
		}
	}
	return false
}
