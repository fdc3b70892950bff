package deployment

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/internal/semantic"
	"github.com/storagesim/storagesim/internal/workload"
)

// syncRolloutStatus writes the numbers and how far the rollout is: complete, making progress, or without any for too long.
// Upstream: progress.go syncRolloutStatus, v1.37.
func (r *rollout) syncRolloutStatus(ctx context.Context, newSet *appsv1.ReplicaSet) error {
	status := r.calculateStatus(newSet)
	if !r.hasDeadline() {
		removeCondition(status, appsv1.DeploymentProgressing)
	}
	current := r.condition(appsv1.DeploymentProgressing)
	complete := status.Replicas == status.UpdatedReplicas && current != nil && current.Reason == newReplicaSetAvailable
	if r.hasDeadline() && !complete {
		r.setProgress(status, current, newSet)
	}
	r.setReplicaFailure(status, newSet)
	if semantic.Equal(&r.d.Status, status) {
		r.requeueStuck(status)
		return nil
	}
	r.d.Status = *status
	return r.writeStatus(ctx)
}

// setProgress sets the condition Progressing.
func (r *rollout) setProgress(status *appsv1.DeploymentStatus, current *appsv1.DeploymentCondition, newSet *appsv1.ReplicaSet) {
	what := fmt.Sprintf("Deployment %q", r.d.Name)
	if newSet != nil {
		what = fmt.Sprintf("ReplicaSet %q", newSet.Name)
	}
	now := metav1.NewTime(r.env.Now())
	cond := appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: v1.ConditionTrue}
	switch {
	case r.isComplete(status):
		cond.Reason, cond.Message = newReplicaSetAvailable, what+" has successfully progressed."
	case r.isProgressing(status):
		cond.Reason, cond.Message = replicaSetUpdated, what+" is progressing."
		if current != nil { // its time is that of the latest progress, also if nothing else of it changes
			cond.LastUpdateTime, cond.LastTransitionTime = now, now
			if current.Status == v1.ConditionTrue {
				cond.LastTransitionTime = current.LastTransitionTime
			}
			removeCondition(status, cond.Type)
			status.Conditions = append(status.Conditions, cond)
			return
		}
	case r.isTimedOut(status):
		cond.Status, cond.Reason, cond.Message = v1.ConditionFalse, timedOut, what+" has timed out progressing."
	default:
		return
	}
	setCondition(status, cond, now)
}

// setReplicaFailure sets the condition ReplicaFailure to that of a ReplicaSet, of the newest if it has one.
// Upstream: progress.go getReplicaFailures, v1.37.
func (r *rollout) setReplicaFailure(status *appsv1.DeploymentStatus, newSet *appsv1.ReplicaSet) {
	sets := r.all
	if newSet != nil {
		sets = append([]*appsv1.ReplicaSet{newSet}, sets...)
	}
	for _, set := range sets {
		for _, c := range set.Status.Conditions {
			if c.Type == appsv1.ReplicaSetReplicaFailure {
				setCondition(status, appsv1.DeploymentCondition{Type: appsv1.DeploymentReplicaFailure, Status: c.Status, Reason: c.Reason,
					Message: c.Message}, metav1.NewTime(r.env.Now()))
				return
			}
		}
	}
	removeCondition(status, appsv1.DeploymentReplicaFailure)
}

// isComplete reports whether all pods are of the newest template, and available, and no others are there.
// Upstream: deployment_util.go DeploymentComplete, v1.37.
func (r *rollout) isComplete(status *appsv1.DeploymentStatus) bool {
	n := r.desired()
	return status.UpdatedReplicas == n && status.Replicas == n && status.AvailableReplicas == n && status.ObservedGeneration >= r.d.Generation
}

// isProgressing reports whether there is one more new pod, one old pod less, or one more pod ready or available than before.
// Upstream: deployment_util.go DeploymentProgressing, v1.37.
func (r *rollout) isProgressing(status *appsv1.DeploymentStatus) bool {
	was := r.d.Status
	return status.UpdatedReplicas > was.UpdatedReplicas || status.Replicas-status.UpdatedReplicas < was.Replicas-was.UpdatedReplicas ||
		status.ReadyReplicas > was.ReadyReplicas || status.AvailableReplicas > was.AvailableReplicas
}

// isTimedOut reports whether the last progress is longer ago than the deadline.
// Upstream: deployment_util.go DeploymentTimedOut, v1.37.
func (r *rollout) isTimedOut(status *appsv1.DeploymentStatus) bool {
	cond := conditionOf(status, appsv1.DeploymentProgressing)
	switch {
	case cond == nil || cond.Reason == newReplicaSetAvailable:
		return false
	case cond.Reason == timedOut:
		return true
	}
	return cond.LastUpdateTime.Add(r.deadline()).Before(r.env.Now())
}

func (r *rollout) deadline() time.Duration {
	return time.Duration(*r.d.Spec.ProgressDeadlineSeconds) * time.Second
}

// requeueStuck looks at the Deployment again when its deadline is over: no other event may come until then.
// Upstream: progress.go requeueStuckDeployment, v1.37.
func (r *rollout) requeueStuck(status *appsv1.DeploymentStatus) {
	cond := r.condition(appsv1.DeploymentProgressing)
	if !r.hasDeadline() || cond == nil || r.isComplete(status) || cond.Reason == timedOut {
		return
	}
	after := cond.LastUpdateTime.Add(r.deadline()).Sub(r.env.Now())
	workload.Later(r.env, r.queue, r.key, max(after, 0)+time.Second)
}
