package disruption

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// stalePodDisruptionTimeout is the time after which the condition DisruptionTarget of a pod that is not being deleted is taken back.
// Upstream: disruption.go stalePodDisruptionTimeout, v1.37.
const stalePodDisruptionTimeout = 2 * time.Minute

// staleAfter reports whether the pod was to be evicted and is not being deleted, and how long its condition may stay.
// Upstream: disruption.go nonTerminatingPodHasStaleDisruptionCondition, v1.37.
func (c *controller) staleAfter(pod *v1.Pod) (after time.Duration, stale bool) {
	target, isTrue := condition(pod, v1.DisruptionTarget)
	ended := pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
	if pod.DeletionTimestamp != nil || !isTrue || ended || target.Reason == v1.PodReasonTerminationByKubelet {
		return 0, false
	}
	return max(target.LastTransitionTime.Add(stalePodDisruptionTimeout).Sub(c.env.Now()), 0), true
}

// syncStalePodDisruption sets the condition DisruptionTarget of a pod to False once it is stale.
// Upstream: disruption.go syncStalePodDisruption, v1.37.
func (c *controller) syncStalePodDisruption(ctx context.Context, key string) error {
	pod, found := c.pods.Get(key)
	if !found {
		return nil
	}
	after, stale := c.staleAfter(pod)
	if !stale {
		return nil
	}
	if after > 0 {
		c.addAfter(c.stale, key, after)
		return nil
	}
	next := pod.DeepCopy()
	target, _ := condition(next, v1.DisruptionTarget)
	*target = v1.PodCondition{
		Type: v1.DisruptionTarget, Status: v1.ConditionFalse,
		LastTransitionTime: metav1.NewTime(c.env.Now()), ObservedGeneration: target.ObservedGeneration,
	}
	_, err := c.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, next, metav1.UpdateOptions{})
	return err
}
