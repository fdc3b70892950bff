// Package prober probes the containers of a node's pods, and says of each whether it has started, is
// ready, or is to be killed.
//
//	manager.go  Manager: the workers of the pods, and what their results mean for a container's status
//	worker.go   one probe of one container: when it runs, and what its results amount to
//	probe.go    runs a probe: a command in the container, or a connection
//
// A probe by httpGet, tcpSocket or grpc succeeds while the container runs, since there is no network to
// connect over; the register of package gaps says so. A pod without probes has no worker, no timer and
// no step here.
package prober

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/podstatus"
	"github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/machine/shell"
)

// Config configures a Manager. All of it is required.
type Config struct {
	Env      control.Env
	Runtime  runtime.Service
	Recorder control.Recorder
	// Pod returns a pod whose containers are to run or to end, and its last status; nil if they have ended for good, or the pod is gone.
	Pod func(uid types.UID) (*v1.Pod, *v1.PodStatus)
	// Command returns the command of an exec probe with the variables of the container replaced.
	Command func(c *v1.Container, command []string) []string
	// Wake has the pod synced, since a result has changed.
	Wake func(uid types.UID)
	// Starting reports whether a container is not probed yet, since its postStart hook runs.
	Starting func(container string) bool
	// Absent says what becomes of a program of a probe that the pod's images may have and the simulation does not: shell.NotFound or shell.Excuses.
	Absent func(pod *v1.Pod) shell.Absent
}

// Manager probes the containers of pods.
//
// Upstream: pkg/kubelet/prober/prober_manager.go manager, v1.37.
type Manager struct {
	cfg     Config
	start   time.Time
	workers map[probeKey]*worker
}

// probeKey identifies a probe.
type probeKey struct {
	pod       types.UID
	container string
	of        probeType
}

// probeType is one of a container's three probes, in upstream's words for events.
type probeType string

const (
	liveness  probeType = "Liveness"
	readiness probeType = "Readiness"
	startup   probeType = "Startup"
)

// Result is the outcome of a probe, or of several in a row.
type Result string

// Results. Unknown: no probe has decided yet.
const (
	Unknown Result = "Unknown"
	Success Result = "Success"
	Failure Result = "Failure"
)

// New makes the manager of one life of a kubelet.
func New(cfg Config) *Manager {
	return &Manager{cfg: cfg, start: cfg.Env.Now(), workers: map[probeKey]*worker{}}
}

// AddPod begins to probe the containers of a pod that have a probe, unless it has begun.
//
// Upstream: prober_manager.go AddPod, v1.37.
func (m *Manager) AddPod(pod *v1.Pod) {
	add := func(c *v1.Container) {
		for _, of := range []probeType{startup, readiness, liveness} {
			spec := of.specOf(c)
			key := probeKey{pod.UID, c.Name, of}
			if spec == nil || m.workers[key] != nil {
				continue
			}
			w := &worker{manager: m, key: key, container: c, spec: spec}
			m.workers[key] = w
			w.run(pod)
		}
	}
	for i := range pod.Spec.Containers {
		add(&pod.Spec.Containers[i])
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; isRestartable(c) {
			add(c)
		}
	}
}

// StopLivenessAndStartup ends the probes that would have containers killed, of a pod that is to end.
//
// Upstream: prober_manager.go StopLivenessAndStartup, v1.37.2.
func (m *Manager) StopLivenessAndStartup(pod *v1.Pod) {
	for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		for _, of := range []probeType{startup, liveness} {
			if w := m.workers[probeKey{pod.UID, c.Name, of}]; w != nil {
				w.stopped, w.result = true, ""
			}
		}
	}
}

// RemovePod forgets the probes of a pod, and their results.
//
// Upstream: prober_manager.go RemovePod, v1.37.
func (m *Manager) RemovePod(pod *v1.Pod) {
	for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		for _, of := range []probeType{startup, readiness, liveness} {
			key := probeKey{pod.UID, c.Name, of}
			if w := m.workers[key]; w != nil {
				w.stopped = true
				delete(m.workers, key)
			}
		}
	}
}

// specOf returns a container's probe of this type, nil if it has none.
func (of probeType) specOf(c *v1.Container) *v1.Probe {
	switch of {
	case liveness:
		return c.LivenessProbe
	case readiness:
		return c.ReadinessProbe
	}
	return c.StartupProbe
}

// isRestartable reports whether an init container goes on running.
func isRestartable(c *v1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
}

// get returns the result of a probe for one run of a container; false if there is none.
func (m *Manager) get(pod types.UID, c *runtime.ContainerStatus, of probeType) (Result, bool) {
	if w := m.workers[probeKey{pod, c.Name, of}]; w != nil && w.containerID == c.ID && w.result != "" {
		return w.result, true
	}
	return "", false
}

// IsContainerStarted reports whether a container counts as started. old is its status in the API, nil if it has none.
//
// Upstream: prober_manager.go isContainerStarted, and kubelet_pods.go convertToAPIContainerStatuses, which takes the
// old status of the container's name, v1.37.
func (m *Manager) IsContainerStarted(pod *v1.Pod, c *runtime.ContainerStatus, old *v1.ContainerStatus) bool {
	if !HasProbes(pod) {
		return c.State == runtime.ContainerRunning
	}
	if c.State != runtime.ContainerRunning {
		return false
	}
	if result, found := m.get(pod.UID, c, startup); found {
		return result == Success
	}
	if old != nil && old.Started != nil && *old.Started {
		return true
	}
	spec := specOf(pod, c.Name)
	return spec == nil || spec.StartupProbe == nil
}

// IsContainerReady reports whether a container that has started is ready. If its readiness probe has not said so yet, the probe
// runs at once.
//
// Upstream: prober_manager.go UpdatePodStatus, v1.37.
func (m *Manager) IsContainerReady(pod *v1.Pod, c *runtime.ContainerStatus) bool {
	spec := specOf(pod, c.Name)
	if c.State != runtime.ContainerRunning || spec == nil || spec.ReadinessProbe == nil {
		return c.State == runtime.ContainerRunning
	}
	result, found := m.get(pod.UID, c, readiness)
	if found && result == Success {
		return true
	}
	if w := m.workers[probeKey{pod.UID, c.Name, readiness}]; w != nil {
		w.trigger()
	}
	return !found && m.isOfEarlierLife(c.StartedAt) && !isRestartable(spec) && podstatus.IsReady(pod)
}

// specOf returns a container of a pod by its name, nil for one that is not probed.
func specOf(pod *v1.Pod, name string) *v1.Container {
	for _, list := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// HasProbes reports whether a container of the pod has a probe.
func HasProbes(pod *v1.Pod) bool {
	probed := func(c v1.Container) bool {
		return c.LivenessProbe != nil || c.ReadinessProbe != nil || c.StartupProbe != nil
	}
	return slices.ContainsFunc(pod.Spec.Containers, probed) || slices.ContainsFunc(pod.Spec.InitContainers, probed)
}

// isOfEarlierLife reports whether a container that started at this time was there before this life of the kubelet.
//
// Upstream: prober_manager.go kubeletRestartGracePeriod, v1.37.
func (m *Manager) isOfEarlierLife(started time.Time) bool {
	const grace = 10 * time.Second
	return !started.IsZero() && started.Before(m.start.Add(-grace))
}

// FailedProbe returns the probe for whose failure a running container is to be killed, "liveness probe" or "startup probe"; "" if
// it is to go on.
//
// Upstream: kuberuntime_manager.go computePodActions, v1.37.
func (m *Manager) FailedProbe(pod types.UID, c *runtime.ContainerStatus) string {
	for _, of := range []struct {
		probe probeType
		name  string
	}{{liveness, "liveness probe"}, {startup, "startup probe"}} {
		if result, found := m.get(pod, c, of.probe); found && result == Failure {
			return of.name
		}
	}
	return ""
}
