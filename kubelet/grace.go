package kubelet

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/machine/shell"
)

// minimumGracePeriod is the time that a container has at least to end by itself.
//
// Upstream: kuberuntime_manager.go minimumGracePeriodInSeconds, v1.37.2.
const minimumGracePeriod = 2 * time.Second

// killContainer stops a container that runs. override is the grace period in seconds, nil for that of the pod or of the probe that has failed.
//
// Upstream: kuberuntime_container.go killContainer, v1.37.2.
func (k *kubelet) killContainer(pod *v1.Pod, c *containerState, message string, failed *v1.Probe, override *int64) error {
	k.recorder.Event(pod, v1.EventTypeNormal, "Killing", message)
	seconds := terminationGracePeriod(pod, failed)
	if override != nil {
		seconds = *override
	}
	seconds = min(seconds, int64(shell.Forever/time.Second)) // more is no time.Duration
	return k.runtime.StopContainer(c.last.ID, max(minimumGracePeriod, time.Duration(seconds)*time.Second))
}

// terminationGracePeriod returns the number of seconds that a container has between SIGTERM and SIGKILL. failed is the probe for whose failure it is
// stopped; nil if it is for another reason.
//
// Upstream: kuberuntime_container.go setTerminationGracePeriod, v1.37.2.
func terminationGracePeriod(pod *v1.Pod, failed *v1.Probe) int64 {
	switch of := pod.Spec.TerminationGracePeriodSeconds; {
	case pod.DeletionGracePeriodSeconds != nil:
		return *pod.DeletionGracePeriodSeconds
	case of == nil:
		return 0
	case failed != nil && failed.TerminationGracePeriodSeconds != nil:
		return *failed.TerminationGracePeriodSeconds
	default:
		return *of
	}
}
