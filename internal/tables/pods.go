package tables

import (
	"fmt"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
)

// pod returns a pod's row. Upstream: printers.go printPod, v1.37.
func pod(p *v1.Pod, now time.Time) []string {
	s := podState{pod: p, reason: string(p.Status.Phase), total: len(p.Spec.Containers)}
	if p.Status.Reason != "" {
		s.reason = p.Status.Reason
	}
	if c := condition(p, v1.PodScheduled); c != nil && c.Reason == v1.PodReasonSchedulingGated {
		s.reason = v1.PodReasonSchedulingGated
	}
	if initializing := s.initContainers(); !initializing || isTrue(condition(p, v1.PodInitialized)) {
		s.restarts, s.lastRestart = s.sidecarRestarts, s.lastSidecarRestart
		s.containers()
	}
	finished := p.Status.Phase == v1.PodSucceeded || p.Status.Phase == v1.PodFailed
	switch {
	case p.DeletionTimestamp != nil && p.Status.Reason == "NodeLost":
		s.reason = "Unknown"
	case p.DeletionTimestamp != nil && !finished:
		s.reason = "Terminating"
	}
	restarts := strconv.Itoa(s.restarts)
	if s.restarts != 0 && !s.lastRestart.IsZero() {
		restarts = fmt.Sprintf("%d (%s ago)", s.restarts, since(s.lastRestart, now))
	}
	ip := ""
	if len(p.Status.PodIPs) > 0 {
		ip = p.Status.PodIPs[0].IP
	}
	return []string{
		p.Name, fmt.Sprintf("%d/%d", s.ready, s.total), s.reason, restarts, age(p, now),
		orNone(ip), orNone(p.Spec.NodeName), orNone(p.Status.NominatedNodeName), readinessGates(p),
	}
}

// podState sums up the statuses of a pod's containers.
type podState struct {
	pod                             *v1.Pod
	reason                          string
	ready, total                    int
	restarts, sidecarRestarts       int
	lastRestart, lastSidecarRestart time.Time
}

func condition(p *v1.Pod, kind v1.PodConditionType) *v1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == kind {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

func isTrue(c *v1.PodCondition) bool { return c != nil && c.Status == v1.ConditionTrue }

// countRestarts adds a container's restarts.
func countRestarts(restarts *int, last *time.Time, status v1.ContainerStatus) {
	*restarts += int(status.RestartCount)
	if t := status.LastTerminationState.Terminated; t != nil && t.FinishedAt.After(*last) {
		*last = t.FinishedAt.Time
	}
}

// initContainers reports whether the pod is still initializing, and if so sets
// the reason. Init containers that restart always are sidecars and count as
// containers.
func (s *podState) initContainers() (initializing bool) {
	sidecar := map[string]bool{}
	for _, c := range s.pod.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways {
			sidecar[c.Name] = true
			s.total++
		}
	}
	for i, status := range s.pod.Status.InitContainerStatuses {
		countRestarts(&s.restarts, &s.lastRestart, status)
		if sidecar[status.Name] {
			countRestarts(&s.sidecarRestarts, &s.lastSidecarRestart, status)
		}
		terminated, waiting := status.State.Terminated, status.State.Waiting
		switch {
		case terminated != nil && terminated.ExitCode == 0:
			continue
		case sidecar[status.Name] && status.Started != nil && *status.Started:
			if status.Ready {
				s.ready++
			}
			continue
		case terminated != nil:
			s.reason = "Init:" + terminationReason(terminated)
		case waiting != nil && waiting.Reason != "" && waiting.Reason != "PodInitializing":
			s.reason = "Init:" + waiting.Reason
		default:
			s.reason = fmt.Sprintf("Init:%d/%d", i, len(s.pod.Spec.InitContainers))
		}
		return true
	}
	return false
}

// containers sets the reason by the containers, the first one last.
func (s *podState) containers() {
	running, failure := false, ""
	for i := len(s.pod.Status.ContainerStatuses) - 1; i >= 0; i-- {
		status := s.pod.Status.ContainerStatuses[i]
		countRestarts(&s.restarts, &s.lastRestart, status)
		switch {
		case status.State.Waiting != nil && status.State.Waiting.Reason != "":
			s.reason = status.State.Waiting.Reason
		case status.State.Terminated != nil:
			s.reason = terminationReason(status.State.Terminated)
			if status.State.Terminated.ExitCode != 0 {
				failure = s.reason
			}
		case status.Ready && status.State.Running != nil:
			running = true
			s.ready++
		}
	}
	if s.reason != "Completed" {
		return
	}
	switch {
	case running && isTrue(condition(s.pod, v1.PodReady)):
		s.reason = "Running"
	case failure != "":
		s.reason = failure
	case running:
		s.reason = "NotReady"
	}
}

func terminationReason(t *v1.ContainerStateTerminated) string {
	switch {
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return fmt.Sprintf("Signal:%d", t.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", t.ExitCode)
}

func readinessGates(p *v1.Pod) string {
	if len(p.Spec.ReadinessGates) == 0 {
		return "<none>"
	}
	passed := 0
	for _, gate := range p.Spec.ReadinessGates {
		if isTrue(condition(p, gate.ConditionType)) {
			passed++
		}
	}
	return fmt.Sprintf("%d/%d", passed, len(p.Spec.ReadinessGates))
}
