package deployment

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/internal/semantic"
)

// The reasons of the condition Progressing.
// Upstream: deployment_util.go, v1.37.
const (
	replicaSetUpdated        = "ReplicaSetUpdated"
	failedToCreateReplicaSet = "ReplicaSetCreateError"
	newReplicaSetCreated     = "NewReplicaSetCreated"
	foundNewReplicaSet       = "FoundNewReplicaSet"
	newReplicaSetAvailable   = "NewReplicaSetAvailable"
	timedOut                 = "ProgressDeadlineExceeded"
	paused                   = "DeploymentPaused"
	resumed                  = "DeploymentResumed"
)

// condition returns a condition of the Deployment, nil if it has none.
func (r *rollout) condition(kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	return conditionOf(&r.d.Status, kind)
}

func conditionOf(status *appsv1.DeploymentStatus, kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for i := range status.Conditions {
		if status.Conditions[i].Type == kind {
			return &status.Conditions[i]
		}
	}
	return nil
}

// setCondition sets a condition of the Deployment itself.
func (r *rollout) setCondition(kind appsv1.DeploymentConditionType, is v1.ConditionStatus, reason, msg string) {
	setCondition(&r.d.Status, appsv1.DeploymentCondition{Type: kind, Status: is, Reason: reason, Message: msg}, metav1.NewTime(r.env.Now()))
}

// setCondition sets a condition. One of the same status and reason stays as it is.
// Upstream: deployment_util.go SetDeploymentCondition, v1.37.
func setCondition(status *appsv1.DeploymentStatus, cond appsv1.DeploymentCondition, now metav1.Time) {
	cond.LastUpdateTime, cond.LastTransitionTime = now, now
	if old := conditionOf(status, cond.Type); old != nil {
		if old.Status == cond.Status && old.Reason == cond.Reason {
			return
		}
		if old.Status == cond.Status {
			cond.LastTransitionTime = old.LastTransitionTime
		}
	}
	removeCondition(status, cond.Type)
	status.Conditions = append(status.Conditions, cond)
}

// removeCondition removes a condition.
// Upstream: deployment_util.go RemoveDeploymentCondition, v1.37.
func removeCondition(status *appsv1.DeploymentStatus, kind appsv1.DeploymentConditionType) {
	status.Conditions = slices.DeleteFunc(status.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == kind })
}

// calculateStatus counts the pods of all ReplicaSets.
// Upstream: sync.go calculateStatus, v1.37.
func (r *rollout) calculateStatus(newSet *appsv1.ReplicaSet) *appsv1.DeploymentStatus {
	old := r.d.Status.DeepCopy()
	updated := int32(0)
	if newSet != nil {
		updated = newSet.Status.Replicas
	}
	availableReplicas := sumOf(r.all, available)
	status := &appsv1.DeploymentStatus{
		ObservedGeneration: r.d.Generation, UpdatedReplicas: updated, AvailableReplicas: availableReplicas,
		Replicas:            sumOf(r.all, func(set *appsv1.ReplicaSet) int32 { return set.Status.Replicas }),
		ReadyReplicas:       sumOf(r.all, func(set *appsv1.ReplicaSet) int32 { return set.Status.ReadyReplicas }),
		UnavailableReplicas: max(sumOf(r.all, wanted)-availableReplicas, 0),
		TerminatingReplicas: terminating(r.all), CollisionCount: old.CollisionCount, Conditions: old.Conditions,
	}
	_, unavailable := r.limits()
	cond := appsv1.DeploymentCondition{
		Type: appsv1.DeploymentAvailable, Status: v1.ConditionTrue, Reason: "MinimumReplicasAvailable", Message: "Deployment has minimum availability.",
	}
	if availableReplicas < r.desired()-unavailable {
		cond.Status, cond.Reason, cond.Message = v1.ConditionFalse, "MinimumReplicasUnavailable", "Deployment does not have minimum availability."
	}
	setCondition(status, cond, metav1.NewTime(r.env.Now()))
	return status
}

// terminating adds up the pods that are being deleted; nil if a ReplicaSet does not say it yet.
// Upstream: deployment_util.go GetTerminatingReplicaCountForReplicaSets, v1.37.
func terminating(sets []*appsv1.ReplicaSet) *int32 {
	sum := int32(0)
	for _, set := range sets {
		if set.Status.TerminatingReplicas == nil {
			return nil
		}
		sum += *set.Status.TerminatingReplicas
	}
	return &sum
}

// syncStatus writes the numbers if they have changed.
// Upstream: sync.go syncDeploymentStatus, v1.37.
func (r *rollout) syncStatus(ctx context.Context, newSet *appsv1.ReplicaSet) error {
	status := r.calculateStatus(newSet)
	if semantic.Equal(&r.d.Status, status) {
		return nil
	}
	r.d.Status = *status
	return r.writeStatus(ctx)
}

// writeStatus writes the Deployment's status, and its annotations.
func (r *rollout) writeStatus(ctx context.Context) error {
	next, err := r.client.AppsV1().Deployments(r.d.Namespace).UpdateStatus(ctx, r.d, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	r.d = next
	return nil
}

// checkPausedConditions says in the condition Progressing that the Deployment was paused, or goes on: the time that it is paused does not count.
// Upstream: sync.go checkPausedConditions, v1.37.
func (r *rollout) checkPausedConditions(ctx context.Context) error {
	if !r.hasDeadline() {
		return nil
	}
	cond := r.condition(appsv1.DeploymentProgressing)
	if cond != nil && cond.Reason == timedOut {
		return nil
	}
	isPaused := cond != nil && cond.Reason == paused
	switch {
	case r.d.Spec.Paused == isPaused:
		return nil
	case r.d.Spec.Paused:
		r.setCondition(appsv1.DeploymentProgressing, v1.ConditionUnknown, paused, "Deployment is paused")
	default:
		r.setCondition(appsv1.DeploymentProgressing, v1.ConditionUnknown, resumed, "Deployment is resumed")
	}
	return r.writeStatus(ctx)
}
