package kubelet

import (
	"context"
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

var (
	errVolumesNotMounted = errors.New("the pod's volumes are not mounted yet")
	errNotCreated        = errors.New("a container could not be created")
)

// shouldContainerBeRestarted reports whether a container is to be started, or started
// again.
//
// Upstream: container/helpers.go ShouldContainerBeRestarted, v1.37.
func shouldContainerBeRestarted(pod *v1.Pod, spec *v1.Container, c *containerState) bool {
	switch {
	case pod.DeletionTimestamp != nil:
		return false
	case c.waiting != nil || c.last == nil:
		return true
	case c.running():
		return false
	}
	return shouldRestart(pod, spec, c.last.ExitCode)
}

// computeInitContainerActions returns which init containers are to be started now, in order, and whether the pod is initialized, so that its containers may
// be started. Before it is, that is the one after the last that has done its work, or, a sidecar, has started: one in each sync. A sidecar that has ended
// starts again in any case.
//
// Upstream: kuberuntime_container.go computeInitContainerActions, v1.37.2.
func (s *podStatus) computeInitContainerActions(pod *v1.Pod) (start []int, initialized bool) {
	if len(s.Init) == 0 {
		return nil, true
	}
	initialized = slices.ContainsFunc(s.Containers, func(c containerState) bool { return c.active })
	previously := initialized
	done := func(i int) {
		if i == len(s.Init)-1 {
			initialized = true
		} else if !previously {
			start = append(start, i+1)
		}
	}
	for i := len(s.Init) - 1; i >= 0; i-- {
		spec, c := &pod.Spec.InitContainers[i], &s.Init[i]
		switch sidecar := isSidecar(spec); {
		case c.last == nil:
			if previously && sidecar {
				start = append(start, i)
			}
			continue
		case previously && !sidecar:
			continue
		case c.running():
			if sidecar && c.started {
				done(i)
			}
		case sidecar:
			start = append(start, i)
		case !c.failed():
			done(i)
		case !shouldRestart(pod, spec, c.last.ExitCode):
			return nil, false
		default:
			start = append(start, i)
		}
		previously = true
	}
	if !previously {
		start = append(start, 0)
	}
	slices.Reverse(start)
	return start, initialized
}

// initToStart returns what computeInitContainerActions does. A pod that is deleted, or whose containers have done their work, starts none.
//
// Upstream: kuberuntime_manager.go computePodActions, v1.37.2.
func (s *podStatus) initToStart(pod *v1.Pod) (start []int, initialized bool) {
	start, initialized = s.computeInitContainerActions(pod)
	if pod.DeletionTimestamp != nil || s.done(pod) {
		start = nil
	}
	return start, initialized
}

// done reports whether all containers have ended and none is started again.
func (s *podStatus) done(pod *v1.Pod) bool {
	for i := range s.Containers {
		if c := &s.Containers[i]; !c.ended() || shouldContainerBeRestarted(pod, &pod.Spec.Containers[i], c) {
			return false
		}
	}
	return true
}

// shouldEphemeralContainerBeStarted reports whether an ephemeral container is to be started,
// which happens once.
//
// Upstream: kuberuntime_manager.go computePodActions, v1.37.
func shouldEphemeralContainerBeStarted(pod *v1.Pod, c *containerState) bool {
	return pod.DeletionTimestamp == nil && c.last == nil
}

// nextEphemeral returns the first of the pod's ephemeral containers that is to be started, nil if
// none is. A pod that has ended starts none.
func (s *podStatus) nextEphemeral(pod *v1.Pod) *containerState {
	for i := range s.Ephemeral {
		if shouldEphemeralContainerBeStarted(pod, &s.Ephemeral[i]) && !s.finished() {
			return &s.Ephemeral[i]
		}
	}
	return nil
}

// startsMore reports whether a container is still to be started.
func (s *podStatus) startsMore(pod *v1.Pod) bool {
	return len(s.toStart(pod)) > 0 || s.nextEphemeral(pod) != nil
}

// toStart returns the pod's containers that are to be started now: none after an init container that failed for good, or while one runs.
//
// Upstream: kuberuntime_manager.go computePodActions, v1.37.2.
func (s *podStatus) toStart(pod *v1.Pod) (list []*containerState) {
	start, initialized := s.initToStart(pod)
	for _, i := range start {
		list = append(list, &s.Init[i])
	}
	for i := range s.Containers {
		if c := &s.Containers[i]; initialized && shouldContainerBeRestarted(pod, &pod.Spec.Containers[i], c) {
			list = append(list, c)
		}
	}
	return list
}

// beginsAnew reports whether the pod needs another sandbox to go on, since an earlier life of the kubelet has stopped the one it had and could not write why.
//
// Upstream: kuberuntime_manager.go computePodActions and util/util.go PodSandboxChanged, v1.37.2.
func (s *podStatus) beginsAnew(pod *v1.Pod) bool {
	return s.stopped && pod.Spec.RestartPolicy != v1.RestartPolicyNever && len(s.toStart(pod)) > 0
}

// goesOn reports whether a container is to be started now that was never tried: the one
// before it has done its work, or it was added.
func (s *podStatus) goesOn(pod *v1.Pod) bool {
	added := s.nextEphemeral(pod)
	return added != nil && !added.tried() || slices.ContainsFunc(s.toStart(pod), func(c *containerState) bool { return !c.tried() })
}

// restartLater starts containers that could not be created, after a while, and
// starts those again that have ended, when their backoff is over.
func (k *kubelet) restartLater(w *podWorker, s *podStatus) {
	if at, ok := k.nextStart(w, s); ok {
		k.restartAt(w, at)
	}
	if s.uncreated() && !w.restarting {
		w.restarting = true
		k.restartQueue.AddRateLimited(string(w.uid))
	}
}

// restartPod starts those of a pod's containers again that have ended, or could not be
// created; the restarts queue's backoff keeps the pace of these. A pod of which the
// runtime knows nothing by then starts from the beginning.
func (k *kubelet) restartPod(ctx context.Context, key string) error {
	w := k.workers[types.UID(key)]
	if w == nil {
		return nil
	}
	release, err := k.hold(ctx, w)
	if err != nil {
		return err
	}
	defer release()
	if !w.terminating() && w.failure == nil {
		k.fetchEnvSources(ctx, w)
	}
	if w.terminating() || w.failure != nil {
		return nil
	}
	s, err := k.podStatus(w)
	if err != nil {
		return err
	}
	if s != nil && shouldAllContainersRestart(w.pod, s, w.lastStatus()) {
		w.restarting = false
		k.podQueue.Add(key)
		return nil
	}
	if s != nil && s.startsMore(w.pod) {
		if !k.volumes.AreMounted(w.uid) {
			return errVolumesNotMounted
		}
		if err := k.startPod(ctx, w, w.pod, s); err != nil {
			return err
		}
	}
	k.podQueue.Add(key)
	w.restarting = s != nil && s.startsMore(w.pod) && s.uncreated()
	if w.restarting {
		return errNotCreated
	}
	return nil
}
