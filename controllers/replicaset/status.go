package replicaset

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/storagesim/storagesim/internal/podstatus"
	"github.com/storagesim/storagesim/internal/semantic"
	"github.com/storagesim/storagesim/internal/workload"
)

// calculateStatus counts the pods. failure is the error with which pods were to be created or deleted, nil for none.
// Upstream: replica_set_utils.go calculateStatus, v1.37.
func (c *controller[T]) calculateStatus(set *appsv1.ReplicaSet, active []*v1.Pod, terminating int32, failure error) *appsv1.ReplicaSetStatus {
	status := set.Status.DeepCopy()
	status.ObservedGeneration, status.Replicas = set.Generation, int32(len(active))
	if c.kind.terminating {
		status.TerminatingReplicas = &terminating
	}
	status.FullyLabeledReplicas, status.ReadyReplicas, status.AvailableReplicas = 0, 0, 0
	template := labels.SelectorFromSet(set.Spec.Template.Labels)
	for _, pod := range active {
		if template.Matches(labels.Set(pod.Labels)) {
			status.FullyLabeledReplicas++
		}
		if podstatus.IsReady(pod) {
			status.ReadyReplicas++
		}
		if workload.IsAvailable(pod, set.Spec.MinReadySeconds, c.env.Now()) {
			status.AvailableReplicas++
		}
	}
	isFailure := func(cond appsv1.ReplicaSetCondition) bool { return cond.Type == appsv1.ReplicaSetReplicaFailure }
	switch failed := slices.ContainsFunc(status.Conditions, isFailure); {
	case failure == nil:
		status.Conditions = slices.DeleteFunc(status.Conditions, isFailure)
	case !failed:
		reason := "FailedDelete"
		if len(active) < int(replicas(set)) {
			reason = "FailedCreate"
		}
		status.Conditions = append(status.Conditions, appsv1.ReplicaSetCondition{
			Type: appsv1.ReplicaSetReplicaFailure, Status: v1.ConditionTrue, Reason: reason, Message: failure.Error(), LastTransitionTime: metav1.NewTime(c.env.Now()),
		})
	}
	return status
}

// writeStatus writes the status if it has changed.
// Upstream: replica_set_utils.go updateReplicaSetStatus, v1.37.
func (c *controller[T]) writeStatus(ctx context.Context, obj T, status *appsv1.ReplicaSetStatus) error {
	if semantic.Equal(&c.kind.view(obj).Status, status) {
		return nil
	}
	err := c.kind.updateStatus(ctx, c.client, obj, status)
	if apierrors.IsNotFound(err) { // it has just been deleted
		return nil
	}
	return err
}
