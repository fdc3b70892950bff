package kubelet

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/kubelet/internal/containerref"
	"github.com/storagesim/storagesim/kubelet/runtime"
)

// podStatus is the state of a pod's containers: as the container runtime reports them, and
// the reasons why the kubelet waits. Init, Containers and Ephemeral have one for each container of the pod.
//
// Upstream: pkg/kubelet/container/runtime.go PodStatus, v1.37.
type podStatus struct {
	IP                          string
	Init, Containers, Ephemeral []containerState
	// stopped says that its sandbox was stopped.
	stopped bool
	// about is the pod in events.
	about *v1.Pod
}

// containerState is one of a pod's containers.
type containerState struct {
	// last is the container that was started last, before the one before that; nil if
	// there is none.
	last, before *runtime.ContainerStatus
	// waiting is why the next one is not created yet, if it was to be.
	waiting *containerWaiting
	// started and ready hold the answers of its probes about last, if that runs.
	started, ready bool
	// active says that last was created in the sandbox that the pod has now.
	active bool
	// killed says that this sync has ended last, whose probe had failed or whose image has changed; changed: it is started again in any case.
	killed, changed bool
}

// containerWaiting is why a container is not created yet.
type containerWaiting struct {
	Reason  string
	Message string
}

// podStatus asks the runtime about a pod; nil if the pod has no sandbox.
//
// Upstream: kuberuntime_manager.go GetPodStatus, v1.37.
func (k *kubelet) podStatus(w *podWorker) (*podStatus, error) { return k.podStatusOf(w, w.pod) }

// podStatusOf does what podStatus does, for a version of the pod.
func (k *kubelet) podStatusOf(w *podWorker, pod *v1.Pod) (*podStatus, error) {
	sandbox, err := k.runtime.PodSandboxStatus(w.uid)
	if sandbox == nil || err != nil {
		return nil, err
	}
	w.sandboxSeen = w.sandboxSeen || sandbox.Ready
	s := &podStatus{about: pod, stopped: !sandbox.Ready}
	switch {
	case sandbox.HostNetwork:
		s.IP = k.node.HostIP()
	case w.sandboxSeen: // one that was stopped in an earlier life has lost its address
		s.IP = sandbox.IP
	}
	if pod == nil {
		return s.ofSandbox(sandbox), nil
	}
	states := func(containers []v1.Container) []containerState {
		list := make([]containerState, len(containers))
		for i, c := range containers {
			last, before := sandbox.Latest(c.Name)
			active := last != nil && last.Sandbox == sandbox.Attempt
			list[i] = containerState{last: last, before: before, waiting: w.waits[c.Name], active: active}
			k.setProbed(w, &list[i])
		}
		return list
	}
	s.Init, s.Containers = states(pod.Spec.InitContainers), states(pod.Spec.Containers)
	s.Ephemeral = states(ephemeralContainers(pod))
	return s, nil
}

// ephemeralContainers returns the containers that were added to a pod while it ran.
func ephemeralContainers(pod *v1.Pod) []v1.Container {
	var list []v1.Container
	for i := range pod.Spec.EphemeralContainers {
		list = append(list, v1.Container(pod.Spec.EphemeralContainers[i].EphemeralContainerCommon))
	}
	return list
}

// ofSandbox adds what the runtime alone knows of a pod that was deleted while there was no
// kubelet: its name, and its containers.
//
// Upstream: pkg/kubelet/container/runtime.go ToAPIPod, v1.37.
func (s *podStatus) ofSandbox(sandbox *runtime.PodSandboxStatus) *podStatus {
	s.about = &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: sandbox.Namespace, Name: sandbox.Name, UID: sandbox.UID}}
	for i := range sandbox.Containers {
		s.Containers = append(s.Containers, containerState{last: &sandbox.Containers[i]})
	}
	return s
}

func (c containerState) running() bool {
	return c.last != nil && c.last.State == runtime.ContainerRunning
}

// ended reports whether the container was started and has ended; it may wait to be created
// again.
func (c containerState) ended() bool { return c.last != nil && c.last.State == runtime.ContainerExited }

// failed reports whether the container has failed, now or before it was to be created
// again.
func (c containerState) failed() bool { return c.ended() && c.last.ExitCode != 0 }

// tried reports whether the container was started, or was to be.
func (c containerState) tried() bool { return c.last != nil || c.waiting != nil }

// notStarted reports whether the container could not be started, which counts as an end.
func (c containerState) notStarted() bool {
	return c.waiting != nil && c.waiting.Reason == runContainerError && c.ended()
}

func (c containerState) waits() bool { return c.waiting != nil }

// all returns the pod's containers, those that begin first first. The ephemeral ones are left out:
// the life of the pod does not depend on them.
func (s *podStatus) all() []containerState { return slices.Concat(s.Init, s.Containers) }

// begun reports whether any of the pod's containers was tried.
func (s *podStatus) begun() bool { return slices.ContainsFunc(s.all(), containerState.tried) }

// waiting reports whether a container could not be created yet.
func (s *podStatus) waiting() bool { return slices.ContainsFunc(s.all(), containerState.waits) }

// uncreated reports whether a container waits that could not be created, and that has no
// backoff of its own.
func (s *podStatus) uncreated() bool {
	paced := []string{crashLoopBackOff, errImagePull, errImagePullBackOff, postStartHookError}
	return slices.ContainsFunc(slices.Concat(s.all(), s.Ephemeral), func(c containerState) bool {
		return c.waiting != nil && !slices.Contains(paced, c.waiting.Reason) && !c.notStarted()
	})
}

// initFailed reports whether an init container has failed for good, so that the containers have
// not begun. A sidecar never has: it starts again whatever its pod says.
//
// Upstream: kuberuntime_container.go computeInitContainerActions, v1.37.2.
func (s *podStatus) initFailed(pod *v1.Pod) bool {
	for i := range s.Init {
		if c := &s.Init[i]; c.failed() && !shouldRestart(pod, &pod.Spec.InitContainers[i], c.last.ExitCode) {
			return true
		}
	}
	return false
}

// running reports whether a container runs.
func (s *podStatus) running() bool { return slices.ContainsFunc(s.Containers, containerState.running) }

// anyRunning reports whether a container runs, be it one that helps the others.
func (s *podStatus) anyRunning() bool { return slices.ContainsFunc(s.all(), containerState.running) }

// hasSandbox reports whether the pod has its network, in which containers run or are to
// be started.
func (s *podStatus) hasSandbox(pod *v1.Pod) bool {
	return s != nil && !s.stopped && (s.anyRunning() || s.waiting() || len(s.toStart(pod)) > 0)
}

// finished reports whether nothing runs, nor waits to be created; a sidecar alone counts
// for nothing.
func (s *podStatus) finished() bool {
	return !s.waiting() && !s.running() && (slices.ContainsFunc(s.Containers, containerState.tried) || !s.anyRunning())
}

// timeOf returns a time as the API keeps it, in whole seconds.
func timeOf(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }

// containerID returns a container's id as the API shows it.
func containerID(r runtime.Service, id string) string {
	return r.Version().RuntimeName + "://" + id
}

// hostname returns the pod's name on its network.
//
// Upstream: kubelet_pods.go GeneratePodHostNameAndDomain, v1.37.
func (k *kubelet) hostname(pod *v1.Pod) string {
	switch {
	case pod.Spec.HostnameOverride != nil:
		return *pod.Spec.HostnameOverride
	case pod.Spec.HostNetwork:
		return k.nodeName()
	case pod.Spec.Hostname != "":
		return pod.Spec.Hostname
	}
	return pod.Name[:min(len(pod.Name), 63)]
}

// runPodSandbox gives a pod its network. If that fails, an event on the pod says so.
//
// Upstream: kuberuntime_sandbox.go createPodSandbox, v1.37.
func (k *kubelet) runPodSandbox(pod *v1.Pod) error {
	err := k.runtime.RunPodSandbox(runtime.PodSandboxConfig{
		UID: pod.UID, Namespace: pod.Namespace, Name: pod.Name, Hostname: k.hostname(pod), HostNetwork: pod.Spec.HostNetwork,
	})
	if err != nil {
		k.recorder.Eventf(pod, v1.EventTypeWarning, "FailedCreatePodSandBox", "Failed to create pod sandbox: %v", err)
	}
	return err
}

// containerStarted tells a pod that one of its containers has begun, and looks at its volumes again, as each sync of a pod does.
//
// Upstream: kubelet.go syncLoopIteration, which syncs a pod when the PLEG says ContainerStarted, v1.37.
func (k *kubelet) containerStarted(pod types.UID, id string) {
	w := k.workers[pod]
	s, err := k.runtime.ContainerStatus(id)
	if w == nil || w.pod == nil || err != nil {
		return
	}
	k.recorder.Event(containerref.GenerateContainerRef(w.pod, s.Name), v1.EventTypeNormal, "Started", "Container started")
	k.volumes.ReprocessPod(pod)
}

// containerEnded brings a pod back one of whose containers has ended by itself.
//
// Upstream: pleg/generic.go Relist, v1.37, which finds out by asking.
func (k *kubelet) containerEnded(pod types.UID, id string) {
	w := k.workers[pod]
	if w == nil || w.pod == nil {
		return
	}
	if s, err := k.runtime.ContainerStatus(id); err == nil {
		if s.ExitCode != 0 {
			k.note(w.ref(), fmt.Sprintf("container %s has ended with exit code %d: %s", s.Name, s.ExitCode, k.lastWords(s)))
		}
		k.tellNotFound(w.pod, s)
	}
	k.wakeHooks(id)
	if !w.backsOff.IsZero() {
		w.backsOff = k.env.Now()
	}
	k.podQueue.Add(string(pod))
}

// exitNotFound is the exit code of a command that is not found, as of a shell.
const exitNotFound = 127

// tellNotFound tells the pod of a program that it lacks.
func (k *kubelet) tellNotFound(pod *v1.Pod, s *runtime.ContainerStatus) {
	if s.State == runtime.ContainerExited && s.ExitCode == exitNotFound {
		k.recorder.Eventf(containerref.GenerateContainerRef(pod, s.Name), v1.EventTypeWarning, "Failed",
			"Error: container %s has ended with exit code %d: %s", s.Name, exitNotFound, k.lastWords(s))
	}
}

// lastWords returns the end of what a container has printed, else its message.
func (k *kubelet) lastWords(s *runtime.ContainerStatus) string {
	var log strings.Builder
	if err := k.runtime.Logs(s.ID, &log); err == nil && log.Len() > 0 {
		text := strings.TrimRight(log.String(), "\n")
		return text[max(0, len(text)-maxLastWords):]
	}
	return s.Message
}

// maxLastWords is the number of bytes of a container's log that are told.
const maxLastWords = 2048
