package kubelet

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/machine/shell"
)

// probed returns a pod whose containers are probed, and its last status; nil for one that has ended.
func (k *kubelet) probed(uid types.UID) (*v1.Pod, *v1.PodStatus) {
	w := k.workers[uid]
	if w == nil || w.pod == nil || w.stopped || w.released || w.ended() || isTerminal(w.lastStatus().Phase) {
		return nil, nil
	}
	return w.pod, w.lastStatus()
}

// absentInProbe says what becomes of programs of probes that the pod's images may have and the simulation does not.
func (k *kubelet) absentInProbe(pod *v1.Pod) shell.Absent {
	if k.cfg.TakesPrograms == nil || !k.cfg.TakesPrograms(pod) {
		return shell.NotFound
	}
	return shell.Excuses
}

// probeCommand returns the command of a probe. Of the container's variables only those with a value of their own are put in.
//
// Upstream: container/helpers.go ExpandContainerCommandOnlyStatic, v1.37.
func probeCommand(c *v1.Container, command []string) []string {
	env := map[string]string{}
	for _, v := range c.Env {
		env[v.Name] = v.Value
	}
	return expandWords(command, env)
}

// setProbed sets what probes say of a container that runs.
func (k *kubelet) setProbed(w *podWorker, c *containerState) {
	c.started, c.ready = false, false
	if !c.running() {
		return
	}
	old := w.lastStatus()
	at := func(list []v1.ContainerStatus) *v1.ContainerStatus {
		if i := slices.IndexFunc(list, func(s v1.ContainerStatus) bool { return s.Name == c.last.Name }); i >= 0 {
			return &list[i]
		}
		return nil
	}
	was := at(old.ContainerStatuses)
	if was == nil {
		was = at(old.InitContainerStatuses)
	}
	c.started = k.prober.IsContainerStarted(w.pod, c.last, was)
	c.ready = c.started && k.prober.IsContainerReady(w.pod, c.last)
}

// killUnhealthy ends the containers whose image the pod has changed, and those whose liveness or startup probe has failed, and reports
// whether there was one. Those that are to run again are started by the same sync, as far as their backoff allows: after a change of the
// image whatever the restart policy says, and without the backoff of what ran before. pod is the version with which the sync began.
//
// Upstream: kuberuntime_manager.go computePodActions and SyncPod, kuberuntime_container.go computeInitContainerActions, helpers.go GetBackoffKey, v1.37.2.
func (k *kubelet) killUnhealthy(ctx context.Context, w *podWorker, pod *v1.Pod, r *podStatus) (killed bool, err error) {
	var kills []func() error
	look := func(spec *v1.Container, c *containerState, what string, regular bool) {
		if !c.running() {
			return
		}
		failed, message, again := "", what+" "+spec.Name+" definition changed", regular
		if c.changed = containerChanged(spec, c); c.changed {
			delete(k.backOffsOf(w.uid), spec.Name)
		} else if failed = k.prober.FailedProbe(w.uid, c.last); failed != "" {
			message, again = what+" "+spec.Name+" failed "+failed, regular && restartsUnhealthy(pod, spec)
		} else {
			return
		}
		if again {
			message += ", will be restarted"
		}
		kills = append(kills, func() error { return k.killFailed(ctx, w, pod, spec, c, message, failed) })
	}
	for i := range r.Init {
		if spec := &pod.Spec.InitContainers[i]; isSidecar(spec) {
			look(spec, &r.Init[i], "Init container", false)
		}
	}
	for i := range r.Containers {
		look(&pod.Spec.Containers[i], &r.Containers[i], "Container", true)
	}
	for _, kill := range kills {
		if err := kill(); err != nil {
			return true, err
		}
	}
	return len(kills) > 0, nil
}

// containerChanged reports whether a container was created from another image than the pod names now.
//
// Upstream: kuberuntime_manager.go containerChanged, and container/helpers.go pickFieldsToHash, v1.37.2.
func containerChanged(spec *v1.Container, c *containerState) bool {
	return c.last.Image != runtime.WithDefaultTag(spec.Image)
}

// killFailed ends a container one of whose probes has failed, or none if it is not for a probe.
func (k *kubelet) killFailed(ctx context.Context, w *podWorker, pod *v1.Pod, spec *v1.Container, c *containerState, message, failed string) error {
	var probe *v1.Probe
	switch failed {
	case "":
	case "startup probe":
		probe = spec.StartupProbe
	default:
		probe = spec.LivenessProbe
	}
	err := k.beside(ctx, w, []*containerState{c}, func(ctx context.Context, c *containerState) error {
		return k.killContainer(ctx, pod, c, message, probe, nil, nil)
	})
	if err != nil {
		return err
	}
	status, err := k.runtime.ContainerStatus(c.last.ID)
	if err != nil {
		return err
	}
	c.last, c.started, c.ready, c.killed = status, false, false, true
	return nil
}
