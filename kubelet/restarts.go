package kubelet

import (
	"context"
	"errors"

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

// shouldInitContainerBeStarted reports whether an init container is to be started, or
// started again: it does its work once, and a sidecar goes on.
//
// Upstream: kuberuntime_container.go computeInitContainerActions, v1.37.
func shouldInitContainerBeStarted(pod *v1.Pod, spec *v1.Container, c *containerState) bool {
	switch {
	case pod.DeletionTimestamp != nil:
		return false
	case c.waiting != nil || c.last == nil:
		return true
	case c.running():
		return false
	case isSidecar(spec):
		return true
	}
	return c.failed() && shouldRestart(pod, spec, c.last.ExitCode)
}

// startsInit reports whether an init container is to be started, or started again: a sidecar is not when the containers have done their work.
//
// Upstream: kuberuntime_manager.go computePodActions, v1.37.2.
func (s *podStatus) startsInit(pod *v1.Pod, i int) bool {
	spec := &pod.Spec.InitContainers[i]
	return shouldInitContainerBeStarted(pod, spec, &s.Init[i]) && !(isSidecar(spec) && s.done(pod))
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
	return s.next(pod) != nil || s.nextEphemeral(pod) != nil
}

// next returns the first of the pod's containers to start, nil if there is none,
// as after an init container that failed for good or while one runs.
//
// Upstream: kuberuntime_manager.go computePodActions, v1.37.
func (s *podStatus) next(pod *v1.Pod) *containerState {
	if s.initFailed(pod) {
		return nil
	}
	for i := range s.Init {
		spec := &pod.Spec.InitContainers[i]
		if s.startsInit(pod, i) {
			return &s.Init[i]
		}
		if s.Init[i].running() && !(isSidecar(spec) && s.Init[i].started) {
			return nil
		}
	}
	for i := range s.Containers {
		if shouldContainerBeRestarted(pod, &pod.Spec.Containers[i], &s.Containers[i]) {
			return &s.Containers[i]
		}
	}
	return nil
}

// beginsAnew reports whether the pod needs another sandbox to go on, since an earlier life of the kubelet has stopped the one it had and could not write why.
//
// Upstream: kuberuntime_manager.go computePodActions and util/util.go PodSandboxChanged, v1.37.2.
func (s *podStatus) beginsAnew(pod *v1.Pod) bool {
	return s.stopped && pod.Spec.RestartPolicy != v1.RestartPolicyNever && s.next(pod) != nil
}

// goesOn reports whether a container is to be started now that was never tried: the one
// before it has done its work, or it was added.
func (s *podStatus) goesOn(pod *v1.Pod) bool {
	next, added := s.next(pod), s.nextEphemeral(pod)
	return next != nil && !next.tried() || added != nil && !added.tried()
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
