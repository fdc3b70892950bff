package podstatus

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// ReadySince returns the time since when a pod has been ready, if it is.
func ReadySince(pod *v1.Pod) (since time.Time, ready bool) {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == v1.PodReady && c.Status == v1.ConditionTrue {
			return c.LastTransitionTime.Time, true
		}
	}
	return time.Time{}, false
}

// IsReady reports whether a pod has the condition Ready.
func IsReady(pod *v1.Pod) bool {
	_, ready := ReadySince(pod)
	return ready
}
