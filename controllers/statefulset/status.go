package statefulset

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/internal/podstatus"
	"github.com/storagesim/storagesim/internal/semantic"
)

// newStatus counts the set's pods. When all replicas come from the newest template, its revision becomes the current
// one.
// Upstream: stateful_set_control.go updateStatus and stateful_set_utils.go
// completeUpdate, v1.37.
func newStatus(set *appsv1.StatefulSet, pods []*v1.Pod, versions *versions, now time.Time) *appsv1.StatefulSetStatus {
	status := set.Status.DeepCopy()
	status.ObservedGeneration = set.Generation
	status.CollisionCount = &versions.collisions
	status.Replicas, status.ReadyReplicas, status.AvailableReplicas, status.UpdatedReplicas, status.CurrentReplicas = 0, 0, 0, 0, 0
	status.CurrentRevision, status.UpdateRevision = versions.current.Name, versions.update.Name
	for _, pod := range pods {
		status.Replicas++
		if isRunningAndReady(pod) {
			status.ReadyReplicas++
		}
		if isRunningAndAvailable(pod, set.Spec.MinReadySeconds, now) {
			status.AvailableReplicas++
		}
		if pod.DeletionTimestamp == nil && pod.Labels[appsv1.ControllerRevisionHashLabelKey] == status.UpdateRevision {
			status.UpdatedReplicas++
		}
	}
	first, end := ordinals(set)
	complete := int64(status.UpdatedReplicas) == end-first && status.ReadyReplicas == status.UpdatedReplicas && status.Replicas == status.UpdatedReplicas
	if complete {
		status.CurrentRevision = status.UpdateRevision
	}
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil && pod.Labels[appsv1.ControllerRevisionHashLabelKey] == status.CurrentRevision {
			status.CurrentReplicas++
		}
	}
	return status
}

// updateStatus writes the status if it has changed.
// Upstream: stateful_set_status_updater.go UpdateStatefulSetStatus, v1.37.
func (c *controller) updateStatus(ctx context.Context, set *appsv1.StatefulSet, status *appsv1.StatefulSetStatus) error {
	if semantic.Equal(&set.Status, status) {
		return nil
	}
	clone := set.DeepCopy()
	clone.Status = *status
	_, err := c.client.AppsV1().StatefulSets(set.Namespace).UpdateStatus(ctx, clone, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) { // the set has just been deleted
		return nil
	}
	return err
}

// isRunningAndReady reports whether the pod runs and is ready.
// Upstream: stateful_set_utils.go isRunningAndReady, v1.37.
func isRunningAndReady(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodRunning && podstatus.IsReady(pod)
}

// isRunningAndAvailable reports whether the pod runs and has been ready for that many seconds.
// Upstream: stateful_set_utils.go isRunningAndAvailable, v1.37.
func isRunningAndAvailable(pod *v1.Pod, minReadySeconds int32, now time.Time) bool {
	return isRunningAndReady(pod) && isAvailable(pod, minReadySeconds, now)
}

// isAvailable reports whether the pod has been ready for that many seconds.
// Upstream: api/v1/pod/util.go IsPodAvailable, v1.37.
func isAvailable(pod *v1.Pod, minReadySeconds int32, now time.Time) bool {
	since, _ := podstatus.ReadySince(pod)
	return podstatus.IsReady(pod) && !now.Before(since.Add(time.Duration(minReadySeconds)*time.Second))
}
