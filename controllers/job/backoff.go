package job

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// The waits after failed pods of a Job.
// Upstream: job_controller.go DefaultJobPodFailureBackOff, MaxJobPodFailureBackOff, v1.37.
const (
	firstBackoff = 10 * time.Second
	maxBackoff   = 10 * time.Minute
)

// backoff counts the pods that have failed since one has succeeded. last is when the latest failed.
// Upstream: backoff_utils.go backoffRecord, v1.37.
type backoff struct {
	failures int
	last     time.Time
}

// after returns the record with pods that have just ended. A success resets it: then only failures after the last success count.
// Upstream: backoff_utils.go newBackoffRecord, v1.37.
func (b backoff) after(succeeded, failed []*v1.Pod) backoff {
	var success time.Time
	if len(succeeded) > 0 {
		b = backoff{}
		for _, pod := range succeeded {
			success = later(success, endOf(pod))
		}
	}
	latest := time.Time{}
	for _, pod := range failed {
		if end := endOf(pod); len(succeeded) == 0 || end.After(success) {
			b.failures++
			latest = later(latest, end)
		}
	}
	if !latest.IsZero() {
		b.last = latest
	}
	return b
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// remaining returns how long no pod is created: 10 s after a failure, and twice as long with each that follows.
// Upstream: backoff_utils.go getRemainingTimeForFailuresCount, v1.37.
func (b backoff) remaining(now time.Time) time.Duration {
	if b.failures == 0 {
		return 0
	}
	wait := firstBackoff
	for i := 1; i < b.failures && wait < maxBackoff; i++ {
		wait = min(2*wait, maxBackoff)
	}
	return max(wait-now.Sub(b.last), 0)
}

// endOf returns when a pod has ended: with its last container, or as it stopped being ready, or as its deletion was asked for.
// Upstream: backoff_utils.go getFinishedTime, v1.37.
func endOf(pod *v1.Pod) time.Time {
	if end, ended := containersEnd(pod); ended {
		return end
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == v1.PodReady && c.Status == v1.ConditionFalse && !c.LastTransitionTime.IsZero() {
			return c.LastTransitionTime.Time
		}
	}
	if pod.DeletionTimestamp != nil {
		grace := int64(0)
		if pod.DeletionGracePeriodSeconds != nil {
			grace = *pod.DeletionGracePeriodSeconds
		}
		return pod.DeletionTimestamp.Add(-time.Duration(grace) * time.Second)
	}
	return pod.CreationTimestamp.Time
}

// containersEnd returns when the last container ended, if all have. Sidecars, which end later than the others, count as well.
// Upstream: backoff_utils.go getFinishTimeFromContainers, v1.37.
func containersEnd(pod *v1.Pod) (end time.Time, ended bool) {
	sidecars := map[string]bool{}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		sidecars[c.Name] = c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
	}
	statuses := append([]v1.ContainerStatus{}, pod.Status.ContainerStatuses...)
	for _, status := range pod.Status.InitContainerStatuses {
		if sidecars[status.Name] {
			statuses = append(statuses, status)
		}
	}
	for i := range statuses {
		t := statuses[i].State.Terminated
		if t == nil || t.FinishedAt.IsZero() {
			return time.Time{}, false
		}
		end, ended = later(end, t.FinishedAt.Time), true
	}
	return end, ended
}
