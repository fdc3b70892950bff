package kubelet

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/kubelet/internal/containerref"
	"github.com/storagesim/storagesim/kubelet/internal/prober"
	"github.com/storagesim/storagesim/machine/shell"
)

// minimumGracePeriod is the number of seconds that a container has at least to end by itself.
//
// Upstream: kuberuntime_manager.go minimumGracePeriodInSeconds, v1.37.2.
const minimumGracePeriod = 2

// killContainer stops a container that runs, and waits until it has ended. failed is the probe that has failed, nil if it is stopped for another reason.
// override is the grace period in seconds, nil for that of the pod or of the probe. ordering says when it is its turn; nil: now.
//
// Upstream: kuberuntime_container.go killContainer, v1.37.2.
func (k *kubelet) killContainer(ctx context.Context, pod *v1.Pod, c *containerState, message string, failed *v1.Probe, override *int64,
	ordering *terminationOrdering) error {
	k.recorder.Event(containerref.GenerateContainerRef(pod, c.last.Name), v1.EventTypeNormal, "Killing", message)
	grace := terminationGracePeriod(pod, failed)
	if override != nil {
		grace = *override
	}
	if spec := specOf(pod, c.last.Name); hasPreStop(spec) && grace > 0 {
		took, err := k.executePreStopHook(ctx, pod, spec, c.last.ID, grace)
		if err != nil {
			return err
		}
		grace -= took
	}
	if ordering != nil && grace > 0 {
		waited, err := ordering.waitForTurn(ctx, k.env, c.last.Name, seconds(grace))
		if err != nil {
			return err
		}
		grace -= int64(waited / time.Second)
	}
	if err := k.runtime.StopContainer(ctx, c.last.ID, seconds(max(minimumGracePeriod, grace))); err != nil {
		return err
	}
	k.wakeHooks(c.last.ID)
	if ordering != nil {
		ordering.containerTerminated(c.last.Name)
	}
	return nil
}

// specOf returns a container of a pod by its name, nil if it has none.
//
// Upstream: container/helpers.go GetContainerSpec, v1.37.2.
func specOf(pod *v1.Pod, name string) *v1.Container {
	for _, list := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers, ephemeralContainers(pod)} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

func hasPreStop(spec *v1.Container) bool {
	return spec != nil && spec.Lifecycle != nil && spec.Lifecycle.PreStop != nil
}

// seconds returns a number of seconds as a time, which is at most for ever.
func seconds(n int64) time.Duration {
	return time.Duration(min(n, int64(shell.Forever/time.Second))) * time.Second
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
		return minimumGracePeriod
	case failed != nil && failed.TerminationGracePeriodSeconds != nil:
		return *failed.TerminationGracePeriodSeconds
	default:
		return *of
	}
}

// GracePeriod returns the time that a container of a pod has to end once the kubelet has begun to stop it. failed is the probe for whose failure it is
// stopped, nil if it is for another reason; evicted says that the pod is evicted.
func GracePeriod(pod *v1.Pod, failed *v1.Probe, evicted bool) time.Duration {
	if evicted {
		return seconds(minimumGracePeriod)
	}
	return seconds(max(minimumGracePeriod, terminationGracePeriod(pod, failed)))
}

// effectiveGracePeriod returns the number of seconds that the containers of a pod have that is to end: at least
// one. One that is evicted or refused, or of which only the runtime knows, has one.
//
// Upstream: pod_workers.go calculateEffectiveGracePeriod, kubelet_pods.go HandlePodCleanups, kubelet.go SyncTerminatingRuntimePod, eviction_manager.go
// immediateEvictionGracePeriodSeconds, v1.37.2.
func (w *podWorker) effectiveGracePeriod() int64 {
	grace := int64(1)
	switch pod := w.pod; {
	case pod == nil || w.rejected || w.failure != nil && w.failure.reason == evictedReason:
	case pod.DeletionGracePeriodSeconds != nil:
		grace = *pod.DeletionGracePeriodSeconds
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		grace = *pod.Spec.TerminationGracePeriodSeconds
	}
	return max(1, grace)
}

// killContainers stops those of a pod's containers that run, all at once, and waits until they have ended. Sidecars wait until the others have ended, and
// then end in the reverse order of their start. grace is as killContainer's override.
//
// Upstream: kuberuntime_container.go killContainersWithSyncResult, v1.37.2.
func (k *kubelet) killContainers(ctx context.Context, w *podWorker, pod *v1.Pod, list []containerState, grace *int64) error {
	var running []*containerState
	for i := range list {
		if list[i].running() {
			running = append(running, &list[i])
		}
	}
	ordering := newTerminationOrdering(pod, running)
	return k.beside(ctx, w, running, func(ctx context.Context, c *containerState) error {
		return k.killContainer(ctx, pod, c, "Stopping container "+c.last.Name, nil, grace, ordering)
	})
}

// statusSyncPeriod is the time after which a status is written again that could not be written.
//
// Upstream: status_manager.go syncPeriod, v1.37.2.
const statusSyncPeriod = 10 * time.Second

// beside does something with containers of a pod that may take time, in a task for each, and waits until all is done. Meanwhile it writes which
// containers of the pod are ready; where none is probed, one container needs no task.
func (k *kubelet) beside(ctx context.Context, w *podWorker, list []*containerState, do func(context.Context, *containerState) error) error {
	if len(list) == 1 && (w.pod == nil || !prober.HasProbes(w.pod)) {
		return do(ctx, list[0])
	}
	left, first := len(list), error(nil)
	w.news = newGate()
	for _, c := range list {
		k.env.Go("container "+c.last.Name+" of "+w.ref().String(), func(ctx context.Context) {
			if err := do(ctx, c); err != nil && first == nil {
				first = err
			}
			left--
			w.news.open()
		})
	}
	until := shell.Forever
	for left > 0 {
		if _, err := w.news.wait(control.InBackground(ctx), k.env, until); err != nil {
			return err
		}
		if w.news, until = newGate(), shell.Forever; left > 0 && k.writeReadiness(ctx, w) != nil {
			until = statusSyncPeriod // what is being done goes on
		}
	}
	return first
}

// terminationOrdering says when the containers of a pod with sidecars may be stopped.
//
// Upstream: kuberuntime_termination_order.go, v1.37.2.
type terminationOrdering struct {
	// terminated has a gate for each container, which is open when it has ended.
	terminated map[string]*gate
	// prereqs are, by the name of a sidecar, the gates that are open before it is stopped.
	prereqs map[string][]*gate
}

// newTerminationOrdering returns the order for the containers that run, nil for a pod without sidecars.
//
// Upstream: kuberuntime_termination_order.go newTerminationOrdering, v1.37.2.
func newTerminationOrdering(pod *v1.Pod, running []*containerState) *terminationOrdering {
	o := &terminationOrdering{terminated: map[string]*gate{}, prereqs: map[string][]*gate{}}
	for _, c := range running {
		o.terminated[c.last.Name] = newGate()
	}
	var before []*gate
	await := func(c *v1.Container) {
		if g := o.terminated[c.Name]; g != nil {
			before = append(before, g)
		}
	}
	for i := range pod.Spec.Containers {
		await(&pod.Spec.Containers[i])
	}
	sidecars := false
	for i := len(pod.Spec.InitContainers) - 1; i >= 0; i-- {
		if c := &pod.Spec.InitContainers[i]; isSidecar(c) {
			sidecars = true
			o.prereqs[c.Name] = before[:len(before):len(before)]
			await(c)
		}
	}
	if !sidecars {
		return nil
	}
	return o
}

// waitForTurn waits until a container may be stopped, at most for d, and returns for how long it has waited.
//
// Upstream: kuberuntime_termination_order.go waitForTurn, v1.37.2.
func (o *terminationOrdering) waitForTurn(ctx context.Context, clock control.Clock, name string, d time.Duration) (waited time.Duration, err error) {
	start := clock.Now()
	for _, g := range o.prereqs[name] {
		opened, err := g.wait(control.InBackground(ctx), clock, d-clock.Now().Sub(start))
		if err != nil || !opened {
			return clock.Now().Sub(start), err
		}
	}
	return clock.Now().Sub(start), nil
}

// containerTerminated says that a container has ended.
//
// Upstream: kuberuntime_termination_order.go containerTerminated, v1.37.2.
func (o *terminationOrdering) containerTerminated(name string) {
	if g := o.terminated[name]; g != nil {
		g.open()
	}
}

// gate lets tasks wait until something has happened.
type gate struct {
	isOpen bool
	waits  []context.CancelCauseFunc
}

func newGate() *gate { return &gate{} }

// open ends the waits.
func (g *gate) open() {
	g.isOpen = true
	for _, end := range g.waits {
		end(nil)
	}
	g.waits = nil
}

// wait waits until the gate is open, at most for d, and reports whether it is. In a context of control.InBackground Settle does not wait for it, but for
// what opens the gate.
func (g *gate) wait(ctx context.Context, clock control.Clock, d time.Duration) (opened bool, err error) {
	if g.isOpen {
		return true, nil
	}
	wait, end := control.WithCancelCause(ctx)
	defer end(nil)
	g.waits = append(g.waits, end)
	err = clock.Sleep(wait, d)
	if g.isOpen {
		err = nil
	}
	return g.isOpen, err
}
