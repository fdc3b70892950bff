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

// shouldContainerBeRestarted says whether the container at i in a list of a record's
// is to be started, or started again.
//
// Upstream: container/helpers.go ShouldContainerBeRestarted, v1.36.
func shouldContainerBeRestarted(pod *v1.Pod, records []containerRecord, i int) bool {
	switch {
	case pod.DeletionTimestamp != nil:
		return false
	case i >= len(records) || records[i].Waiting != nil:
		return true
	case records[i].running():
		return false
	}
	return shouldRestart(pod, records[i].ExitCode)
}

// shouldInitContainerBeStarted says whether the init container at i is to be started, or
// started again: it does its work once, and a sidecar goes on.
//
// Upstream: kuberuntime_container.go computeInitContainerActions, v1.36.
func shouldInitContainerBeStarted(pod *v1.Pod, records []containerRecord, i int) bool {
	switch {
	case pod.DeletionTimestamp != nil:
		return false
	case i >= len(records) || records[i].Waiting != nil:
		return true
	case records[i].running():
		return false
	case isSidecar(&pod.Spec.InitContainers[i]):
		return true
	}
	return records[i].failed() && pod.Spec.RestartPolicy != v1.RestartPolicyNever
}

// toStart says whether any of the pod's containers is to be started.
// None is where an init container failed for good, or has not done its work.
//
// Upstream: kuberuntime_manager.go computePodActions, v1.36.
func (r *podRecord) toStart(pod *v1.Pod) bool {
	if r.initFailed() && pod.Spec.RestartPolicy == v1.RestartPolicyNever {
		return false
	}
	for i := range pod.Spec.InitContainers {
		if shouldInitContainerBeStarted(pod, r.Init, i) {
			return true
		}
		if i < len(r.Init) && r.Init[i].running() && !isSidecar(&pod.Spec.InitContainers[i]) {
			return false
		}
	}
	for i := range pod.Spec.Containers {
		if shouldContainerBeRestarted(pod, r.Containers, i) {
			return true
		}
	}
	return false
}

// restartLater has containers started that could not be created, after a while, and
// those started again that have ended, when their backoff is over.
func (k *kubelet) restartLater(w *podWorker, r *podRecord) {
	if at, ok := k.nextStart(w, r); ok {
		k.restartAt(w, at)
	}
	if r.uncreated() && !w.restarting {
		w.restarting = true
		k.restartQueue.AddRateLimited(string(w.uid))
	}
}

// restartPod starts those of a pod's containers again that have ended, or could not be
// created; the restarts queue's backoff keeps the pace of these. A pod whose record is
// gone by then starts from the beginning.
func (k *kubelet) restartPod(_ context.Context, key string) error {
	w := k.workers[types.UID(key)]
	if w == nil || w.terminating() || w.pastDeadline {
		return nil
	}
	r, err := k.loadRecord(w)
	if err != nil {
		return err
	}
	if r != nil && r.toStart(w.pod) {
		if !k.volumesMounted(w) {
			return errVolumesNotMounted
		}
		if r, err = k.startAndTell(w, r); err != nil {
			return err
		}
	}
	k.podQueue.Add(key)
	w.restarting = r != nil && r.toStart(w.pod) && r.uncreated()
	if w.restarting {
		return errNotCreated
	}
	return nil
}
