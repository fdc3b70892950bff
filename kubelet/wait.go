package kubelet

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/volume"
)

// podAttachAndMountTimeout is how long a pod waits for its volumes before the trace
// is told which ones are missing, again and again.
//
// Upstream: volume_manager.go podAttachAndMountTimeout, v1.36.
const podAttachAndMountTimeout = 2*time.Minute + 3*time.Second

// waitForAttachAndMount says whether the pod's volumes are there. If they are not,
// the operation that ends brings the pod back, or else the wait's end does.
//
// Upstream: volume_manager.go WaitForAttachAndMount, v1.36, which looks again every
// 300 ms.
func (k *kubelet) waitForAttachAndMount(w *podWorker) bool {
	if k.volumesMounted(w) {
		w.awaited = false
		return true
	}
	if w.populated && !w.awaited { // or else it hears what is wrong
		w.awaited = true
		k.waitQueue.AddRateLimited(string(w.uid))
	}
	return false
}

// plegRelistPeriod is how often the kubelet looks at what the container runtime runs. Each
// step from a pod that is to run to one that has ended waits for that.
//
// Upstream: kubelet.go genericPlegRelistPeriod, v1.36.
const plegRelistPeriod = time.Second

// endsLater says whether a pod that was deleted while it waited for its volumes has not
// ended yet: its worker waits twice for the runtime, once to begin and once to complete
// the end. Until then the volumes are mounted, or tried again.
//
// Upstream: pod_workers.go podWorkerLoop, and desired_state_of_world_populator.go
// findAndRemoveDeletedPods, which keeps a volume that is not mounted as long as the pod
// exists, v1.36.
func (k *kubelet) endsLater(w *podWorker, r *podStatus) bool {
	now := k.env.Now()
	if w.ends.IsZero() {
		if w.gone || r != nil || !w.populated || k.volumesMounted(w) {
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

// volumesMounted says whether all of the pod's volumes are there.
func (k *kubelet) volumesMounted(w *podWorker) bool {
	if !w.populated {
		return false
	}
	for _, v := range k.desired.ofPod(w.uid) {
		if !k.actual.isMounted(v.podVolume) {
			return false
		}
	}
	return true
}

// waitTimedOut is the end of a pod's wait; the next one begins. That volumes are just
// not there in time is an error for the trace, and no event. A pod whose volume found the node
// full is given up, so that its controller makes another one for another node.
func (k *kubelet) waitTimedOut(ctx context.Context, key string) error {
	w := k.workers[types.UID(key)]
	if w == nil || !w.awaited || !w.wantsVolumes() || k.volumesMounted(w) {
		return nil
	}
	err := fmt.Errorf("%s: %w", k.missing(w), context.DeadlineExceeded)
	if k.attachLimitExceeded(ctx, w) {
		k.rejectPod(w, volumeAttachmentLimitExceeded, "Node has reached its volume attachment limit, rejecting pod. "+err.Error())
		return nil
	}
	return err
}

// volumeAttachmentLimitExceeded is why a pod is given up.
//
// Upstream: volume_manager.go VolumeAttachmentLimitExceededReason, v1.36.
const volumeAttachmentLimitExceeded = "VolumeAttachmentLimitExceeded"

// attachLimitExceeded says whether one of the pod's volumes is not attached since the node
// has as many as it can have.
//
// Upstream: volume_manager.go WaitForAttachAndMount, v1.36.
func (k *kubelet) attachLimitExceeded(ctx context.Context, w *podWorker) bool {
	for _, v := range k.desired.ofPod(w.uid) {
		if !v.attachable || k.attached[v.volume] {
			continue
		}
		plugin, err := k.plugins.FindPluginBySpec(v.spec)
		if limited, ok := plugin.(volume.AttachLimitPlugin); ok && err == nil && limited.VerifyExhaustedResource(ctx, v.spec) {
			return true
		}
	}
	return false
}

// rejectPod gives up a pod that was never started.
//
// Upstream: kubelet.go rejectPod, v1.36.
func (k *kubelet) rejectPod(w *podWorker, reason, message string) {
	if !w.wantsVolumes() || w.failure != nil {
		return
	}
	k.recorder.Event(w.pod, v1.EventTypeWarning, reason, message)
	w.failure = &podFailure{reason, "Pod was rejected: " + message}
	k.podQueue.Add(string(w.uid))
}

// failedMount tells the pod which of its volumes could not be processed, and why.
//
// Upstream: volume_manager.go WaitForAttachAndMount and kubelet.go SyncPod, v1.36.
func (k *kubelet) failedMount(w *podWorker) {
	k.recorder.Eventf(w.pod, v1.EventTypeWarning, "FailedMount",
		"Unable to attach or mount volumes: %s: %s", k.missing(w), strings.Join(w.errors, "; "))
}

// missing says which volumes the pod lacks.
func (k *kubelet) missing(w *podWorker) string {
	return fmt.Sprintf("unmounted volumes=%s, unattached volumes=%s, failed to process volumes=%s",
		k.unmountedVolumes(w), k.unattachedVolumes(w), k.notProcessed(w))
}

// unmountedVolumes are the names of the pod's used volumes that are not mounted.
func (k *kubelet) unmountedVolumes(w *podWorker) []string {
	desired := k.desiredByName(w)
	return k.usedVolumes(w, func(name string) bool {
		v := desired[name]
		return v == nil || !k.actual.isMounted(v.podVolume)
	})
}

// notProcessed are those that could not even be desired.
func (k *kubelet) notProcessed(w *podWorker) []string {
	desired := k.desiredByName(w)
	return k.usedVolumes(w, func(name string) bool { return desired[name] == nil })
}

// unattachedVolumes are those that wait to be attached to the node.
func (k *kubelet) unattachedVolumes(w *podWorker) []string {
	desired := k.desiredByName(w)
	return k.usedVolumes(w, func(name string) bool {
		v := desired[name]
		return v != nil && v.attachable && !k.attached[v.volume]
	})
}

func (k *kubelet) desiredByName(w *podWorker) map[string]*volumeToMount {
	desired := map[string]*volumeToMount{}
	for _, v := range k.desired.ofPod(w.uid) {
		desired[v.outerName] = v
	}
	return desired
}

// usedVolumes are the names of those that containers use and keep says true of,
// sorted.
func (k *kubelet) usedVolumes(w *podWorker, keep func(name string) bool) []string {
	mounts, devices := podVolumeNames(w.pod)
	var names []string
	for _, v := range w.pod.Spec.Volumes {
		if (mounts[v.Name] || devices[v.Name]) && keep(v.Name) {
			names = append(names, v.Name)
		}
	}
	slices.Sort(names)
	return names
}
