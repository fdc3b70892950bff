package kubelet

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
)

// What is said of a pod that uses more of its node's disk than it may.
//
// Upstream: pkg/kubelet/eviction/helpers.go, v1.37.
const (
	evictedReason      = "Evicted"
	emptyDirMessageFmt = "Usage of EmptyDir volume %q exceeds the limit %q. "
)

// volumeStatsAggPeriod is the interval at which the kubelet finds out how full volumes are.
//
// Upstream: pkg/kubelet/apis/config/v1beta1/defaults.go VolumeStatsAggPeriod, v1.37, to which up to as much is added by chance.
const volumeStatsAggPeriod = time.Minute

// systemCriticalPriority is the priority from which on a pod is not evicted.
//
// Upstream: pkg/apis/scheduling SystemCriticalPriority and pkg/kubelet/types IsCriticalPod, v1.37.
const systemCriticalPriority = 2_000_000_000

// watchLocalStorage begins to look, once a minute, whether a pod that runs keeps the limits of its emptyDir volumes.
//
// Settling waits for the eviction of a pod whose containers are above a limit as soon as they have started, unless a controller
// would make the pod anew, and that for ever. It does not wait for what a container may write later.
//
// Upstream: volume_stat_calculator.go StartOnce and eviction_manager.go Start, v1.37.
func (k *kubelet) watchLocalStorage(w *podWorker, r *podStatus) {
	critical := w.pod.Spec.Priority != nil && *w.pod.Spec.Priority >= systemCriticalPriority
	if w.localStorageWatched || critical || !r.running() || len(sizeLimits(w.pod)) == 0 || !k.volumes.AreMounted(w.uid) {
		return
	}
	w.localStorageWatched = true
	k.env.Go("local storage of "+w.ref().String(), func(ctx context.Context) {
		wait := ctx
		if metav1.GetControllerOf(w.pod) != nil || k.exceeded(ctx, w) == "" {
			wait = control.InBackground(ctx)
		}
		for k.env.Sleep(wait, volumeStatsAggPeriod) == nil && !k.localStorageEviction(ctx, w) {
			wait = control.InBackground(ctx)
		}
	})
}

// localStorageEviction evicts a pod that is above a limit. It reports whether there is nothing more to look at.
//
// Upstream: eviction_manager.go localStorageEviction and evictPod, v1.37.
func (k *kubelet) localStorageEviction(ctx context.Context, w *podWorker) (done bool) {
	if !w.wantsVolumes() || w.failure != nil {
		return true
	}
	message := k.exceeded(ctx, w)
	if message == "" {
		return false
	}
	k.recorder.Event(w.pod, v1.EventTypeWarning, evictedReason, message)
	w.failure = &podFailure{evictedReason, message}
	k.podQueue.Add(string(w.uid))
	return true
}

// exceeded says which emptyDir volume of a pod holds more than it may, "" if none does.
//
// Upstream: eviction_manager.go emptyDirLimitEviction, v1.37.
func (k *kubelet) exceeded(ctx context.Context, w *podWorker) string {
	limits := sizeLimits(w.pod)
	for _, stats := range k.volumes.VolumeStats(ctx, w.pod, func(name string) bool { return limits[name] != nil }) {
		if limit := limits[stats.Name]; stats.Used.Cmp(*limit) > 0 {
			return fmt.Sprintf(emptyDirMessageFmt, stats.Name, limit.String())
		}
	}
	return ""
}

// sizeLimits returns the limits of a pod's emptyDir volumes, by name. Those in memory are bounded by their file system, not by eviction.
func sizeLimits(pod *v1.Pod) map[string]*resource.Quantity {
	limits := map[string]*resource.Quantity{}
	for i := range pod.Spec.Volumes {
		if dir := pod.Spec.Volumes[i].EmptyDir; dir != nil && dir.Medium != v1.StorageMediumMemory && dir.SizeLimit != nil && dir.SizeLimit.Sign() > 0 {
			limits[pod.Spec.Volumes[i].Name] = dir.SizeLimit
		}
	}
	return limits
}
