package kubelet

import (
	"context"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/kubelet/volumemanager"
)

// podAttachAndMountTimeout is the time that a pod waits for its volumes until the trace tells which
// ones are missing. The next wait begins with the next sync, backOffPeriod later.
//
// Upstream: volume_manager.go podAttachAndMountTimeout, v1.37.
const podAttachAndMountTimeout = 2*time.Minute + 3*time.Second

// waitForAttachAndMount reports whether the pod's volumes are there. If they are not, the pod
// wakes when an operation has ended, or when the wait times out.
//
// Upstream: volume_manager.go WaitForAttachAndMount, v1.37, which looks again every
// 300 ms.
func (k *kubelet) waitForAttachAndMount(ctx context.Context, w *podWorker) bool {
	if k.volumes.AreMounted(w.uid) {
		if w.awaited && k.volumes.ComesRound(ctx, volumemanager.PodAttachAndMountRetryInterval) != nil {
			return false
		}
		w.awaited = false
		return !w.terminating()
	}
	if k.volumes.ArePopulated(w.uid) && !w.awaited { // else it is told what is wrong
		w.awaited = true
		k.waitQueue.AddRateLimited(string(w.uid))
	}
	return false
}

// waitTimedOut ends a pod's wait; the next one begins. That volumes are just not there in time
// is an error for the trace, and no event. If a volume found the node full, the kubelet gives
// the pod up, so that its controller makes another one for another node.
func (k *kubelet) waitTimedOut(ctx context.Context, key string) error {
	w := k.workers[types.UID(key)]
	if w == nil || !w.awaited || !w.wantsVolumes() || k.volumes.AreMounted(w.uid) {
		return nil
	}
	err := k.volumes.WaitTimedOut(ctx, w.uid)
	if _, full := errors.AsType[*volumemanager.VolumeAttachLimitExceededError](err); full {
		k.rejectPod(w, volumeAttachmentLimitExceeded, "Node has reached its volume attachment limit, rejecting pod. "+err.Error())
		return nil
	}
	if w.pod.Spec.ActiveDeadlineSeconds != nil { // the next sync looks at it
		w.awaited = false
		k.podQueue.AddAfter(key, backOffPeriod)
	}
	return err
}

// volumeAttachmentLimitExceeded is the reason for which a pod is given up.
//
// Upstream: volume_manager.go VolumeAttachmentLimitExceededReason, v1.37.
const volumeAttachmentLimitExceeded = "VolumeAttachmentLimitExceeded"

// rejectPod gives up a pod that was never started.
//
// Upstream: kubelet.go rejectPod, v1.37.
func (k *kubelet) rejectPod(w *podWorker, reason, message string) {
	if !w.wantsVolumes() || w.failure != nil {
		return
	}
	k.recorder.Event(w.pod, v1.EventTypeWarning, reason, message)
	w.failure = &podFailure{reason, "Pod was rejected: " + message}
	k.podQueue.Add(string(w.uid))
}

// plegRelistPeriod is the interval at which the kubelet looks at what the container runtime
// runs. Each step from a pod that is to run to one that has ended waits for that.
//
// Upstream: kubelet.go genericPlegRelistPeriod, v1.37.
const plegRelistPeriod = time.Second

// endsLater reports whether a pod that was deleted while it waited for its volumes has not
// ended yet: its worker waits twice for the runtime, once to begin and once to complete
// the end. Until then the volumes are mounted, or tried again.
//
// Upstream: pod_workers.go podWorkerLoop, and desired_state_of_world_populator.go
// findAndRemoveDeletedPods, which keeps a volume that is not mounted as long as the pod
// exists, v1.37.
func (k *kubelet) endsLater(w *podWorker, r *podStatus) bool {
	now := k.env.Now()
	if w.ends.IsZero() {
		if w.gone || w.rejected || r != nil || !k.volumes.ArePopulated(w.uid) || k.volumes.AreMounted(w.uid) {
			return false
		}
		since := now.Sub(k.started)
		w.ends = now.Add(2*plegRelistPeriod - since%plegRelistPeriod)
	}
	left := w.ends.Sub(now)
	if w.gone || left <= 0 {
		return false
	}
	k.podQueue.AddAfter(string(w.uid), left)
	return true
}
