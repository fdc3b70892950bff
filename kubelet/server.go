package kubelet

import (
	"fmt"
	"io"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/kubelet/runtime"
)

// Exec begins a command in a container of a pod, as the API server has a kubelet do. The
// container must run.
//
// Upstream: kubelet_pods.go GetExec, v1.37.
func Exec(containers runtime.Service, pod *v1.Pod, container string, config runtime.ExecConfig) (runtime.Process, error) {
	sandbox, err := containers.PodSandboxStatus(pod.UID)
	if err != nil {
		return nil, err
	}
	var last *runtime.ContainerStatus
	if sandbox != nil {
		last, _ = sandbox.Latest(container)
	}
	if last == nil || last.State != runtime.ContainerRunning {
		return nil, fmt.Errorf("container not found (%q): it %s", container, doing(pod, container))
	}
	return containers.Exec(last.ID, config)
}

// doing says what a container does that does not run, as far as the API knows.
func doing(pod *v1.Pod, container string) string {
	s := statusOf(pod, container)
	switch {
	case s == nil:
		return "has not begun"
	case s.State.Waiting != nil && s.State.Waiting.Reason != "":
		return "waits: " + s.State.Waiting.Reason
	case s.State.Terminated != nil:
		return fmt.Sprintf("has ended with exit code %d", s.State.Terminated.ExitCode)
	}
	return "does not run"
}

// Logs writes what a container has printed, or the one before it; the end of that if it
// is long.
//
// Upstream: kubelet_pods.go GetKubeletContainerLogs, v1.37.
func Logs(containers runtime.Service, pod *v1.Pod, container string, previous bool, to io.Writer) error {
	id, err := logsOf(pod, container, previous)
	if err != nil {
		return err
	}
	_, id, _ = strings.Cut(id, "://")
	return containers.Logs(id, to)
}

// logsOf returns the id of the container whose log is meant, as the API shows it.
//
// Upstream: kubelet_pods.go validateContainerLogStatus, v1.37.
func logsOf(pod *v1.Pod, container string, previous bool) (string, error) {
	s := statusOf(pod, container)
	if s == nil {
		return "", fmt.Errorf("container %q in pod %q is not available", container, pod.Name)
	}
	ended, last := s.State.Terminated, s.LastTerminationState.Terminated
	switch {
	case previous && (last == nil || last.ContainerID == ""):
		return "", fmt.Errorf("previous terminated container %q in pod %q not found", container, pod.Name)
	case previous:
		return last.ContainerID, nil
	case s.State.Running != nil:
		return s.ContainerID, nil
	case ended != nil && ended.ContainerID != "":
		return ended.ContainerID, nil
	case last != nil && last.ContainerID != "":
		return last.ContainerID, nil
	case ended != nil || last != nil:
		return "", fmt.Errorf("container %q in pod %q is terminated", container, pod.Name)
	case s.State.Waiting == nil:
		return "", fmt.Errorf("container %q in pod %q is waiting to start - no logs yet", container, pod.Name)
	}
	reason := s.State.Waiting.Reason
	switch reason {
	case errImagePull:
		reason = "image can't be pulled"
	case errImagePullBackOff:
		reason = "trying and failing to pull image"
	}
	return "", fmt.Errorf("container %q in pod %q is waiting to start: %s", container, pod.Name, reason)
}

func statusOf(pod *v1.Pod, container string) *v1.ContainerStatus {
	list := slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses, pod.Status.EphemeralContainerStatuses)
	if at := slices.IndexFunc(list, func(s v1.ContainerStatus) bool { return s.Name == container }); at >= 0 {
		return &list[at]
	}
	return nil
}
