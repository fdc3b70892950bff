package kubelet

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/resource"

	"github.com/storagesim/storagesim/kubelet/runtime"
)

// generateAPIPodStatus returns the status that a pod should have.
//
// Upstream: kubelet_pods.go generateAPIPodStatus and convertStatusToAPIStatus, v1.37.
func (m *statusManager) generateAPIPodStatus(w *podWorker, r *podStatus, podIsTerminal bool) *v1.PodStatus {
	pod, old := w.pod, w.lastStatus()
	s := old.DeepCopy()
	s.ObservedGeneration = pod.Generation
	if now := m.now(); s.StartTime == nil {
		s.StartTime = &now
	}
	s.HostIP, s.HostIPs = m.node.HostIP(), []v1.HostIP{{IP: m.node.HostIP()}}
	var initStates, states, ephemeral []containerState
	if r != nil {
		initStates, states, ephemeral = r.Init, r.Containers, r.Ephemeral
		s.PodIP, s.PodIPs = r.IP, nil
		if r.IP != "" {
			s.PodIPs = []v1.PodIP{{IP: r.IP}}
		}
	}
	restarting := shouldAllContainersRestart(pod, r, old)
	s.InitContainerStatuses = m.containerStatuses(pod, pod.Spec.InitContainers, initStates, old.InitContainerStatuses, true, restarting)
	s.ContainerStatuses = m.containerStatuses(pod, pod.Spec.Containers, states, old.ContainerStatuses, false, restarting)
	s.EphemeralContainerStatuses = m.containerStatuses(pod, ephemeralContainers(pod), ephemeral, old.EphemeralContainerStatuses, false, false)
	for i := range s.EphemeralContainerStatuses { // they are never ready
		s.EphemeralContainerStatuses[i].Ready, s.EphemeralContainerStatuses[i].Started = false, nil
	}
	s.Resources, s.AllocatedResources = m.podResources(pod, old), orNil(resource.PodRequests(pod, resource.PodResourcesOptions{}))
	s.Phase = getPhase(pod, s, podIsTerminal)
	switch { // a pod that has ended keeps its phase
	case isTerminal(pod.Status.Phase):
		s.Phase = pod.Status.Phase
	case isTerminal(old.Phase):
		s.Phase = old.Phase
	case w.failure != nil:
		s.Phase, s.Reason, s.Message = v1.PodFailed, w.failure.reason, w.failure.message
	}
	if s.Phase != old.Phase && w.failure == nil {
		s.Reason, s.Message = "", ""
	}
	setPodConditions(s, pod, r, old, m.now())
	if podIsTerminal && r != nil {
		w.failure.disrupted(s, pod, m.now())
	}
	cutMessages(pod, s)
	return s
}

// maxMessages is the number of bytes that the messages of a pod's containers have at most, shared equally among all of them.
//
// Upstream: pkg/kubelet/container/runtime.go MaxPodTerminationMessageLogLength, v1.37.2.
const maxMessages = 12 << 10

// cutMessages keeps the beginning of messages that are too long.
//
// Upstream: status_manager.go normalizeStatus, v1.37.2.
func cutMessages(pod *v1.Pod, s *v1.PodStatus) {
	most := maxMessages / max(1, len(pod.Spec.Containers)+len(pod.Spec.InitContainers)+len(pod.Spec.EphemeralContainers))
	for _, list := range [][]v1.ContainerStatus{s.ContainerStatuses, s.InitContainerStatuses, s.EphemeralContainerStatuses} {
		for i := range list {
			for _, ended := range []*v1.ContainerStateTerminated{list[i].State.Terminated, list[i].LastTerminationState.Terminated} {
				if ended != nil && len(ended.Message) > most {
					ended.Message = ended.Message[:most]
				}
			}
		}
	}
}

func isTerminal(phase v1.PodPhase) bool { return phase == v1.PodSucceeded || phase == v1.PodFailed }

// podResources returns the resources of the pod as a whole. Those of a pod that runs are read from its cgroup. Without one cpu and
// limits stay in its status as long as it runs.
//
// Upstream: kubelet_pods.go convertToAPIPodLevelResourcesStatus, v1.37.2.
func (m *statusManager) podResources(pod *v1.Pod, old *v1.PodStatus) *v1.ResourceRequirements {
	if pod.Status.Phase != v1.PodRunning || !m.runtime.Version().HidesResources {
		return effectiveResources(pod)
	}
	resources := pod.Spec.Resources.DeepCopy()
	if resources == nil {
		resources = &v1.ResourceRequirements{}
	}
	keep := func(name v1.ResourceName, old, list v1.ResourceList) v1.ResourceList {
		if was, ok := old[name]; ok {
			return with(list, name, was)
		}
		return list
	}
	if old.Phase == v1.PodRunning && old.Resources != nil {
		resources.Requests = keep(v1.ResourceCPU, old.Resources.Requests, resources.Requests)
		resources.Limits = keep(v1.ResourceCPU, old.Resources.Limits, resources.Limits)
		resources.Limits = keep(v1.ResourceMemory, old.Resources.Limits, resources.Limits)
	}
	if _, ok := resources.Requests[v1.ResourceMemory]; !ok {
		resources.Requests = keep(v1.ResourceMemory, resource.PodRequests(pod, resource.PodResourcesOptions{}), resources.Requests)
	}
	return resources
}

// effectiveResources returns what a pod as a whole asks for.
//
// Upstream: kubelet_pods.go getEffectiveAllocatedResources, v1.37.
func effectiveResources(pod *v1.Pod) *v1.ResourceRequirements {
	options := resource.PodResourcesOptions{}
	resources := pod.Spec.Resources.DeepCopy()
	if resources == nil {
		resources = &v1.ResourceRequirements{}
	}
	resources.Requests, resources.Limits = orNil(resource.PodRequests(pod, options)), orNil(resource.PodLimits(pod, options))
	return resources
}

// containerResources returns the resources in the status of a container. Of one that runs the container runtime tells them. If it hides them,
// the container has those that it was started with, and 0 memory if that was not said.
//
// Upstream: kubelet_pods.go convertContainerStatusResources, and kuberuntime_container.go toKubeContainerStatus, v1.37.2.
func (m *statusManager) containerResources(c *v1.Container, running bool) *v1.ResourceRequirements {
	resources := c.Resources.DeepCopy()
	if !running || !m.runtime.Version().HidesResources {
		return resources
	}
	if resources.Limits != nil {
		resources.Limits = with(resources.Limits, v1.ResourceMemory, *resources.Limits.Memory())
	}
	if resources.Requests != nil {
		resources.Requests = with(resources.Requests, v1.ResourceMemory, *resources.Requests.Memory())
	}
	return resources
}

// with returns a list with an amount in it.
func with(list v1.ResourceList, name v1.ResourceName, amount apiresource.Quantity) v1.ResourceList {
	if list == nil {
		list = v1.ResourceList{}
	}
	list[name] = amount
	return list
}

// orNil returns nil for an empty list, as it is after a way as JSON.
func orNil(list v1.ResourceList) v1.ResourceList {
	if len(list) == 0 {
		return nil
	}
	return list
}

// The status of a container that the container runtime does not know any more.
//
// Upstream: kubelet_pods.go convertToAPIContainerStatuses and status_manager.go
// TerminatePod, v1.37.
const (
	statusUnknownReason   = "ContainerStatusUnknown"
	statusUnknownMessage  = "The container could not be located when the pod was terminated"
	statusUnknownRunning  = "The container could not be located when the pod was deleted.  The container used to be Running"
	statusUnknownExitCode = 137
)

// containerStatuses returns one status for each container, in order of name; those of init
// containers in the pod's order. restarting says that all containers are being restarted.
//
// Upstream: kubelet_pods.go convertToAPIContainerStatuses, v1.37.
func (m *statusManager) containerStatuses(pod *v1.Pod, containers []v1.Container, states []containerState, old []v1.ContainerStatus,
	init, restarting bool) []v1.ContainerStatus {
	var list []v1.ContainerStatus
	for i := range containers {
		c := &containers[i]
		var was *v1.ContainerStatus
		if at := slices.IndexFunc(old, func(s v1.ContainerStatus) bool { return s.Name == c.Name }); at >= 0 {
			was = &old[at]
		}
		s := defaultContainerStatus(pod, c, was)
		var state containerState
		if i < len(states) {
			state = states[i]
		}
		if pod.DeletionTimestamp != nil { // it is not started again
			state.waiting = nil
		}
		switch {
		case state.tried():
			m.fillContainerStatus(&s, c, &state, was)
		case !removedForRestart(&s, was, restarting):
			noteLostContainer(&s, pod, was)
		}
		started := s.State.Running != nil && state.started
		s.Started, s.Ready = &started, started && state.ready
		if init && !isSidecar(c) { // it is ready when it has done its work
			s.Ready = s.State.Terminated != nil && s.State.Terminated.ExitCode == 0
		}
		list = append(list, s)
	}
	if !init {
		slices.SortFunc(list, func(a, b v1.ContainerStatus) int { return strings.Compare(a.Name, b.Name) })
	}
	return list
}

// defaultContainerStatus returns the status of a container that waits to be created: its old one
// if that says that it has ended.
func defaultContainerStatus(pod *v1.Pod, c *v1.Container, was *v1.ContainerStatus) v1.ContainerStatus {
	if was != nil && was.State.Terminated != nil {
		return *was.DeepCopy()
	}
	reason := "ContainerCreating"
	if len(pod.Spec.InitContainers) > 0 {
		reason = "PodInitializing"
	}
	s := v1.ContainerStatus{Name: c.Name, Image: c.Image, State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason}}}
	for _, m := range c.VolumeMounts {
		mount := v1.VolumeMountStatus{Name: m.Name, MountPath: m.MountPath, ReadOnly: m.ReadOnly}
		if disabled := v1.RecursiveReadOnlyDisabled; m.ReadOnly { // the runtime has no recursive read-only mounts
			mount.RecursiveReadOnly = &disabled
		}
		s.VolumeMounts = append(s.VolumeMounts, mount)
	}
	if was != nil {
		s.RestartCount, s.LastTerminationState = was.RestartCount, *was.LastTerminationState.DeepCopy()
	}
	return s
}

// noteLostContainer ends, in the status, a container that ran and of which nothing is known any
// more.
func noteLostContainer(s *v1.ContainerStatus, pod *v1.Pod, was *v1.ContainerStatus) {
	if was == nil || was.State.Running == nil || s.LastTerminationState.Terminated != nil {
		return
	}
	s.LastTerminationState.Terminated = &v1.ContainerStateTerminated{
		Reason: statusUnknownReason, Message: statusUnknownRunning, ExitCode: statusUnknownExitCode,
	}
	if pod.DeletionTimestamp == nil {
		s.RestartCount++
	}
}

// fillContainerStatus sets the status of a container from the runtime's. If it waits to be created
// again, the status is about the one that has ended. Of one that was removed, was knows how it ended.
func (m *statusManager) fillContainerStatus(s *v1.ContainerStatus, c *v1.Container, state *containerState, was *v1.ContainerStatus) {
	s.State, s.LastTerminationState = v1.ContainerState{}, v1.ContainerState{}
	last, before := state.last, state.before
	if waits := state.waiting; waits != nil {
		s.State.Waiting = &v1.ContainerStateWaiting{Reason: waits.Reason, Message: waits.Message}
		before = last
	}
	if before != nil && before.State == runtime.ContainerExited {
		s.LastTerminationState.Terminated = m.terminated(before)
	}
	if last == nil {
		return
	}
	if was != nil && was.LastTerminationState.Terminated != nil && was.LastTerminationState.Terminated.Reason == restartingAllContainers && before == nil {
		s.LastTerminationState.Terminated = was.LastTerminationState.Terminated.DeepCopy()
	}
	s.ContainerID, s.Image, s.ImageID, s.RestartCount = containerID(m.runtime, last.ID), last.Image, last.Image, last.Attempt
	s.Resources, s.AllocatedResources = m.containerResources(c, state.running()), c.Resources.Requests
	switch {
	case s.State.Waiting != nil:
	case state.ended():
		s.State.Terminated = m.terminated(last)
	default:
		s.State.Running = &v1.ContainerStateRunning{StartedAt: timeOf(last.StartedAt)}
	}
}

// terminated returns the state of a container that has ended.
func (m *statusManager) terminated(c *runtime.ContainerStatus) *v1.ContainerStateTerminated {
	return &v1.ContainerStateTerminated{
		ExitCode: c.ExitCode, Reason: c.Reason, Message: c.Message,
		StartedAt: timeOf(c.StartedAt), FinishedAt: timeOf(c.FinishedAt), ContainerID: containerID(m.runtime, c.ID),
	}
}

// terminatePod returns the status of a pod of which nothing is left on the node. Containers that
// had not ended count as failed, and so does the pod.
//
// Upstream: status_manager.go TerminatePod, v1.37.
func terminatePod(pod *v1.Pod, old *v1.PodStatus) *v1.PodStatus {
	s := old.DeepCopy()
	if hasPodInitialized(pod) {
		endUnknown(s.ContainerStatuses)
	}
	endUnknown(initializedContainers(s.InitContainerStatuses))
	if !isTerminal(s.Phase) {
		s.Phase = v1.PodFailed
	}
	return s
}

// endUnknown ends, in the status, the containers that have not ended.
func endUnknown(list []v1.ContainerStatus) {
	for i := range list {
		if list[i].State.Terminated == nil {
			list[i].State = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{
				Reason: statusUnknownReason, Message: statusUnknownMessage, ExitCode: statusUnknownExitCode,
			}}
		}
	}
}

// hasPodInitialized reports whether the pod's containers had their turn, as far as the API
// knows.
//
// Upstream: status_manager.go hasPodInitialized, v1.37.
func hasPodInitialized(pod *v1.Pod) bool {
	if len(pod.Spec.InitContainers) == 0 {
		return true
	}
	for _, s := range pod.Status.ContainerStatuses {
		if s.LastTerminationState.Terminated != nil || s.State.Waiting == nil {
			return true
		}
	}
	n := min(len(pod.Status.InitContainerStatuses), len(pod.Spec.InitContainers))
	if n == 0 {
		return false
	}
	last := pod.Status.InitContainerStatuses[n-1]
	if isSidecar(&pod.Spec.InitContainers[n-1]) {
		return last.State.Running != nil && last.Started != nil && *last.Started
	}
	succeeded := func(s v1.ContainerState) bool { return s.Terminated != nil && s.Terminated.ExitCode == 0 }
	return succeeded(last.LastTerminationState) || succeeded(last.State)
}

// initializedContainers returns the statuses up to the last container that was ever started, at
// least the first.
//
// Upstream: status_manager.go initializedContainers, v1.37.
func initializedContainers(list []v1.ContainerStatus) []v1.ContainerStatus {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].State.Waiting == nil || list[i].LastTerminationState.Terminated != nil {
			return list[:i+1]
		}
	}
	return list[:min(1, len(list))]
}

// setPodConditions sets the conditions that the kubelet keeps, after those of others.
//
// Upstream: kubelet_pods.go generateAPIPodStatus, v1.37.
func setPodConditions(s *v1.PodStatus, pod *v1.Pod, r *podStatus, old *v1.PodStatus, now metav1.Time) {
	own := []v1.PodCondition{
		podReadyToStartContainersCondition(pod, r),
		podInitializedCondition(pod, s, old),
		podReadyCondition(pod, s),
		containersReadyCondition(pod, s),
		{Type: v1.PodScheduled, Status: v1.ConditionTrue},
	}
	if allContainersCouldRestart(pod) {
		own = append(own, allContainersRestartingCondition(pod, r, old, s.Phase))
	}
	s.Conditions = slices.DeleteFunc(slices.Clone(pod.Status.Conditions), func(c v1.PodCondition) bool { return isOwnCondition(c.Type) })
	for _, c := range own {
		c.LastTransitionTime, c.ObservedGeneration = now, pod.Generation
		if was := findCondition(old.Conditions, c.Type); was != nil && was.Status == c.Status {
			c.LastTransitionTime = was.LastTransitionTime
		}
		s.Conditions = append(s.Conditions, c)
	}
}

// podReadyToStartContainersCondition reports whether the pod has its network, and why not.
//
// Upstream: status/generate.go GeneratePodReadyToStartContainersCondition, v1.37.
func podReadyToStartContainersCondition(pod *v1.Pod, r *podStatus) v1.PodCondition {
	c := v1.PodCondition{Type: v1.PodReadyToStartContainers, Status: v1.ConditionTrue}
	if !r.hasSandbox(pod) {
		c.Status, c.Reason, c.Message = v1.ConditionFalse, "PodSandboxNotReady", "no pod sandbox exists"
		if r != nil && (r.stopped || r.begun()) {
			c.Message = "pod sandbox is not ready"
		}
	}
	return c
}

// isOwnCondition reports whether the kubelet keeps this condition.
//
// Upstream: pkg/kubelet/types/pod_status.go PodConditionByKubelet, v1.37.
func isOwnCondition(kind v1.PodConditionType) bool {
	switch kind {
	case v1.PodReadyToStartContainers, v1.PodInitialized, v1.PodReady, v1.ContainersReady, v1.PodScheduled, v1.AllContainersRestarting:
		return true
	}
	return false
}
