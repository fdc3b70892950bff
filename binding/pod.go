package binding

import v1 "k8s.io/api/core/v1"

// IsPodTerminated reports whether the pod has ended and will not run again: it has
// succeeded or failed, or it is being deleted and its containers do not run.
// Upstream: pkg/volume/util IsPodTerminated, v1.37.
func IsPodTerminated(pod *v1.Pod) bool {
	status := &pod.Status
	if status.Phase == v1.PodSucceeded || status.Phase == v1.PodFailed {
		return true
	}
	return pod.DeletionTimestamp != nil && notRunning(status.InitContainerStatuses) &&
		notRunning(status.ContainerStatuses) && notRunning(status.EphemeralContainerStatuses)
}

// notRunning reports whether each of the containers waits or has ended.
func notRunning(containers []v1.ContainerStatus) bool {
	for i := range containers {
		if state := &containers[i].State; state.Terminated == nil && state.Waiting == nil {
			return false
		}
	}
	return true
}
