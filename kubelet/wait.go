package kubelet

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/kubelet/volumemanager"
)

// podAttachAndMountTimeout is the time that a pod waits for its volumes until the trace tells which
// ones are missing. The next wait begins with the next sync, backOffPeriod later.
//
// Upstream: volume_manager.go podAttachAndMountTimeout, v1.37.
const podAttachAndMountTimeout = 2*time.Minute + 3*time.Second

// waitForAttachAndMount reports whether the pod's volumes are there. If they are not, the pod
// wakes when an operation has ended, or when the wait times out. pod is the version with which the sync began.
//
// Upstream: volume_manager.go WaitForAttachAndMount, v1.37, which looks again every
// 300 ms.
func (k *kubelet) waitForAttachAndMount(ctx context.Context, w *podWorker, pod *v1.Pod) bool {
	if k.volumes.AreMounted(w.uid) {
		if w.syncing != nil && k.volumes.ComesRound(ctx, volumemanager.PodAttachAndMountRetryInterval) != nil {
			return false
		}
		w.syncing = nil
		return !w.terminating()
	}
	if k.volumes.ArePopulated(w.uid) { // else it is told what is wrong
		w.syncing = pod
		if !w.awaited {
			w.awaited = true
			k.waitQueue.AddRateLimited(string(w.uid))
		}
	}
	return false
}

// waitTimedOut ends a pod's wait; the next one begins with the next sync. That volumes are just not there in time
// is an error for the trace, and no event. If a volume found the node full, the kubelet gives
// the pod up, so that its controller makes another one for another node.
func (k *kubelet) waitTimedOut(ctx context.Context, key string) error {
	w := k.workers[types.UID(key)]
	if w == nil {
		return nil
	}
	var err error
	if w.waitsForVolumes() {
		err = k.volumes.WaitTimedOut(ctx, w.uid)
	}
	w.awaited = err != nil && w.waitsForVolumes() && !k.volumes.AreMounted(w.uid)
	if !w.awaited {
		return nil
	}
	if _, full := errors.AsType[*volumemanager.VolumeAttachLimitExceededError](err); full {
		k.rejectPod(w, volumeAttachmentLimitExceeded, "Node has reached its volume attachment limit, rejecting pod. "+err.Error())
		return nil
	}
	// Of a pod that is past its deadline the kubelet's loop says so each second.
	changed := factsChanged(w.syncing, w.pod) || k.pastActiveDeadline(w)
	w.syncing = nil
	k.syncAgain(w, changed)
	if changed {
		w.awaited = false
		k.note(w.ref(), fmt.Sprintf("is synced again at once, since it has changed: %v", err))
		return nil
	}
	return err
}

// waitsForVolumes reports whether a sync of the pod waits for its volumes.
func (w *podWorker) waitsForVolumes() bool { return w.syncing != nil && w.wantsVolumes() }

// syncAgain syncs a pod again whose wait for its volumes has timed out: after a while, or at once.
//
// Upstream: pod_workers.go completeWork, v1.37.2, which does not wait where an update is pending.
func (k *kubelet) syncAgain(w *podWorker, atOnce bool) {
	w.backsOff = k.env.Now()
	if atOnce {
		k.podQueue.Add(string(w.uid))
		return
	}
	d := backOffPeriod + k.volumes.Part(backOffPeriod/2)
	w.backsOff = w.backsOff.Add(d)
	k.env.Go("sync of "+w.ref().String(), func(ctx context.Context) {
		if k.env.Sleep(control.InBackground(ctx), d) == nil {
			k.podQueue.Add(string(w.uid))
		}
	})
}

// syncBegins returns the version of the pod of the sync that has begun or begins now, and whether one does: none does of a pod that backs off. A sync looks
// at the pod's volumes again, since they may be older than their API objects.
//
// Upstream: volume_manager.go WaitForAttachAndMount, which calls ReprocessPod, v1.37.2.
func (k *kubelet) syncBegins(w *podWorker) (pod *v1.Pod, begins bool) {
	switch {
	case w.syncing != nil:
		return w.syncing, true
	case w.backsOff.IsZero():
		return w.pod, true
	case k.env.Now().Before(w.backsOff):
		return w.pod, false
	}
	w.backsOff = time.Time{}
	k.volumes.ReprocessPod(w.uid)
	return w.pod, true
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
	w.failure = &podFailure{reason: reason, message: "Pod was rejected: " + message, rejected: true}
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
	if w.ends.IsZero() && (w.gone || w.rejected || r != nil || !k.volumes.ArePopulated(w.uid) || k.volumes.AreMounted(w.uid)) {
		return false
	}
	left := k.endOf(w).Sub(k.env.Now())
	if w.gone || left <= 0 {
		return false
	}
	k.podQueue.AddAfter(string(w.uid), left)
	return true
}

// endOf returns when the worker of a pod that has nothing in the runtime has completed its end, which begins now if it has not begun.
func (k *kubelet) endOf(w *podWorker) time.Time {
	if w.ends.IsZero() {
		now := k.env.Now()
		w.ends = now.Add(2*plegRelistPeriod - now.Sub(k.started)%plegRelistPeriod)
	}
	return w.ends
}
