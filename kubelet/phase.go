package kubelet

import v1 "k8s.io/api/core/v1"

// getPhase returns the pod's phase by what its containers do. podIsTerminal says that none
// of them will be started again.
//
// Upstream: kubelet_pods.go getPhase, v1.37.
func getPhase(pod *v1.Pod, s *v1.PodStatus, podIsTerminal bool) v1.PodPhase {
	pending, failed := initProgress(pod, s)
	n := countContainers(pod, s)
	switch {
	case failed:
		return v1.PodFailed
	case pending, n.waiting > 0:
		return v1.PodPending
	case n.running > 0:
		return v1.PodRunning
	case n.stopped == 0:
		return v1.PodPending
	case !podIsTerminal && n.restartable > 0:
		return v1.PodRunning
	case n.stopped == n.succeeded:
		return v1.PodSucceeded
	}
	return v1.PodFailed
}

// initProgress reports whether an init container is still to do its work, and whether one
// has failed for good.
func initProgress(pod *v1.Pod, s *v1.PodStatus) (pending, failed bool) {
	for i, c := range s.InitContainerStatuses {
		ended := c.State.Terminated
		if c.State.Waiting != nil {
			ended = c.LastTerminationState.Terminated
		}
		switch {
		case isSidecar(&pod.Spec.InitContainers[i]):
			pending = pending || c.State.Running == nil && ended == nil
		case ended == nil:
			pending = true
		case ended.ExitCode != 0 && ended.Reason != restartingAllContainers && !shouldRestart(pod, &pod.Spec.InitContainers[i], ended.ExitCode):
			failed = true
		}
	}
	return pending, failed
}

// containerCounts counts a pod's containers by state. stopped counts those that
// have ended, also if they wait to be created again.
type containerCounts struct{ waiting, running, stopped, restartable, succeeded int }

func countContainers(pod *v1.Pod, s *v1.PodStatus) (n containerCounts) {
	for i, c := range s.InitContainerStatuses {
		if isSidecar(&pod.Spec.InitContainers[i]) && c.State.Running != nil {
			n.running++
		}
	}
	for i, c := range inSpecOrder(pod, s.ContainerStatuses) {
		ended := c.State.Terminated
		if ended != nil && ended.ExitCode == 0 {
			n.succeeded++
		}
		if c.State.Waiting != nil {
			ended = c.LastTerminationState.Terminated
		}
		switch {
		case c.State.Running != nil:
			n.running++
		case ended == nil:
			n.waiting++
		default:
			n.stopped++
			if ended.Reason == restartingAllContainers || shouldRestart(pod, &pod.Spec.Containers[i], ended.ExitCode) {
				n.restartable++
			}
		}
	}
	return n
}
