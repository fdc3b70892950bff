package kubelet

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Reasons of conditions.
//
// Upstream: pkg/kubelet/status/generate.go, v1.37.
const (
	podCompleted             = "PodCompleted"
	podFailed                = "PodFailed"
	containersNotReady       = "ContainersNotReady"
	containersNotInitialized = "ContainersNotInitialized"
	readinessGatesNotReady   = "ReadinessGatesNotReady"
)

// podInitializedCondition reports whether all init containers are done and all sidecars have started, or had in the last status.
//
// Upstream: pkg/kubelet/status/generate.go GeneratePodInitializedCondition, v1.37.2.
func podInitializedCondition(pod *v1.Pod, s, old *v1.PodStatus) v1.PodCondition {
	done := v1.PodCondition{Type: v1.PodInitialized, Status: v1.ConditionTrue}
	if s.Phase == v1.PodSucceeded {
		done.Reason = podCompleted
		return done
	}
	for _, c := range s.ContainerStatuses { // where one has begun, the init containers were done
		if c.State.Running != nil || c.State.Terminated != nil || c.LastTerminationState.Terminated != nil {
			return done
		}
	}
	var incomplete []string
	for i, c := range s.InitContainerStatuses {
		ready := c.Ready
		if isSidecar(&pod.Spec.InitContainers[i]) {
			ready = c.Started != nil && *c.Started
		}
		if !ready {
			incomplete = append(incomplete, c.Name)
		}
	}
	if len(incomplete) == 0 {
		return done
	}
	if was := findCondition(old.Conditions, v1.PodInitialized); was != nil && was.Status == v1.ConditionTrue { // its containers are restarted
		return done
	}
	return v1.PodCondition{
		Type: v1.PodInitialized, Status: v1.ConditionFalse, Reason: containersNotInitialized,
		Message: fmt.Sprintf("containers with incomplete status: %s", incomplete),
	}
}

// containersReadyCondition reports whether all containers are ready. A pod that has ended
// has none that is.
//
// Upstream: pkg/kubelet/status/generate.go GenerateContainersReadyCondition, v1.37.
func containersReadyCondition(pod *v1.Pod, s *v1.PodStatus) v1.PodCondition {
	c := v1.PodCondition{Type: v1.ContainersReady, Status: v1.ConditionFalse}
	var unready []string
	for i, status := range s.InitContainerStatuses {
		if isSidecar(&pod.Spec.InitContainers[i]) && !status.Ready {
			unready = append(unready, status.Name)
		}
	}
	for _, status := range inSpecOrder(pod, s.ContainerStatuses) {
		if !status.Ready {
			unready = append(unready, status.Name)
		}
	}
	switch {
	case s.Phase == v1.PodSucceeded:
		c.Reason = podCompleted
	case s.Phase == v1.PodFailed:
		c.Reason = podFailed
	case len(unready) > 0:
		c.Reason, c.Message = containersNotReady, fmt.Sprintf("containers with unready status: %s", unready)
	default:
		c.Status = v1.ConditionTrue
	}
	return c
}

// inSpecOrder returns the statuses in the order of the pod's containers.
func inSpecOrder(pod *v1.Pod, list []v1.ContainerStatus) []*v1.ContainerStatus {
	ordered := make([]*v1.ContainerStatus, 0, len(list))
	for _, c := range pod.Spec.Containers {
		for i := range list {
			if list[i].Name == c.Name {
				ordered = append(ordered, &list[i])
			}
		}
	}
	return ordered
}

// podReadyCondition reports whether the containers and all readiness gates are ready.
//
// Upstream: pkg/kubelet/status/generate.go GeneratePodReadyCondition, v1.37.
func podReadyCondition(pod *v1.Pod, s *v1.PodStatus) v1.PodCondition {
	c := containersReadyCondition(pod, s)
	c.Type = v1.PodReady
	if c.Status != v1.ConditionTrue {
		return c
	}
	var unready []string
	for _, gate := range pod.Spec.ReadinessGates {
		switch found := findCondition(pod.Status.Conditions, gate.ConditionType); {
		case found == nil:
			unready = append(unready, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", gate.ConditionType))
		case found.Status != v1.ConditionTrue:
			unready = append(unready, fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v", gate.ConditionType, found.Status))
		}
	}
	if len(unready) > 0 {
		c.Status, c.Reason, c.Message = v1.ConditionFalse, readinessGatesNotReady, strings.Join(unready, ", ")
	}
	return c
}
