package kubelet

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podresource "k8s.io/component-helpers/resource"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/kubelet/runtime"
)

// What is said of a pod that uses more of its node's disk than it may.
//
// Upstream: pkg/kubelet/eviction/helpers.go, v1.37.
const (
	evictedReason                       = "Evicted"
	emptyDirMessageFmt                  = "Usage of EmptyDir volume %q exceeds the limit %q. "
	podEphemeralStorageMessageFmt       = "Pod ephemeral local storage usage exceeds the total limit of containers %s. "
	containerEphemeralStorageMessageFmt = "Container %s exceeded its local ephemeral storage limit %q. "
)

// evictionMonitoringPeriod is the interval at which the kubelet looks at what containers have written.
//
// Upstream: pkg/kubelet/kubelet.go evictionMonitoringPeriod, v1.37.2.
const evictionMonitoringPeriod = 10 * time.Second

// systemCriticalPriority is the priority from which on a pod is not evicted.
//
// Upstream: pkg/apis/scheduling SystemCriticalPriority, v1.37.
const systemCriticalPriority = 2_000_000_000

// watchLocalStorage begins to look whether a pod that runs keeps its limits: once a minute at its emptyDir volumes, and every ten seconds at what its
// containers have written, if there is a limit of that.
//
// Settling waits for the eviction of a pod whose containers are above a limit as soon as they have started, unless a controller
// would make the pod anew, and that for ever. It does not wait for what a container may write later.
//
// Upstream: volume_stat_calculator.go StartOnce and eviction_manager.go Start, v1.37.
func (k *kubelet) watchLocalStorage(w *podWorker, r *podStatus) {
	if w.localStorageWatched || isCriticalPod(w.pod) || !r.running() {
		return
	}
	period := volumeStatsAggPeriod
	_, ofContainers := storageLimit(w.pod)
	if ofContainers {
		period = evictionMonitoringPeriod
	}
	if len(sizeLimits(w.pod)) == 0 && !ofContainers || !k.volumes.AreMounted(w.uid) {
		return
	}
	w.localStorageWatched = true
	k.env.Go("local storage of "+w.ref().String(), func(ctx context.Context) {
		wait := ctx
		if metav1.GetControllerOf(w.pod) != nil || k.exceeded(ctx, w) == "" {
			wait = control.InBackground(ctx)
		}
		for k.env.Sleep(wait, period) == nil && !k.localStorageEviction(ctx, w) {
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
	w.failure = &podFailure{reason: evictedReason, message: message}
	k.podQueue.Add(string(w.uid))
	return true
}

// exceeded says which limit a pod does not keep, "" if it keeps all.
//
// Upstream: eviction_manager.go localStorageEviction, v1.37.2.
func (k *kubelet) exceeded(ctx context.Context, w *podWorker) string {
	if message := k.emptyDirLimit(ctx, w); message != "" {
		return message
	}
	limit, limited := storageLimit(w.pod)
	if !limited {
		return ""
	}
	used := k.usedByContainers(w)
	total := k.usedByVolumes(ctx, w)
	for _, c := range used {
		total += c.bytes
	}
	if resource.NewQuantity(total, resource.BinarySI).Cmp(limit) > 0 {
		return fmt.Sprintf(podEphemeralStorageMessageFmt, limit.String())
	}
	return containerLimit(w.pod, used)
}

// emptyDirLimit says which emptyDir volume of a pod holds more than it may, "" if none does.
//
// Upstream: eviction_manager.go emptyDirLimitEviction, v1.37.
func (k *kubelet) emptyDirLimit(ctx context.Context, w *podWorker) string {
	limits := sizeLimits(w.pod)
	list, err := k.volumes.VolumeStats(ctx, w.pod, func(name string) bool { return limits[name] != nil })
	if err != nil {
		return "" // the next look may find out
	}
	for _, stats := range list {
		if limit := limits[stats.Name]; stats.Used.Cmp(*limit) > 0 {
			return fmt.Sprintf(emptyDirMessageFmt, stats.Name, limit.String())
		}
	}
	return ""
}

// storageLimit returns the sum of what the containers of a pod may write to the disk of its node, if one has such a limit.
//
// Upstream: eviction_manager.go podEphemeralStorageLimitEviction, v1.37.2.
func storageLimit(pod *v1.Pod) (limit resource.Quantity, limited bool) {
	limits := func(c v1.Container) bool { return len(c.Resources.Limits) > 0 }
	if pod.Spec.Resources == nil && !slices.ContainsFunc(pod.Spec.Containers, limits) && !slices.ContainsFunc(pod.Spec.InitContainers, limits) {
		return limit, false
	}
	sum := podresource.PodLimits(pod, podresource.PodResourcesOptions{})
	limit, limited = sum[v1.ResourceEphemeralStorage]
	return limit, limited
}

// used has the number of bytes that one container has written.
type used struct {
	container string
	bytes     int64
}

// usedByContainers returns what each container that runs has written to the node's disk, outside of its volumes and to its log.
//
// Upstream: pkg/kubelet/stats/helper.go diskUsage and cri_stats_provider.go makePodStorageStats, v1.37.2.
func (k *kubelet) usedByContainers(w *podWorker) (list []used) {
	status, err := k.runtime.PodSandboxStatus(w.uid)
	if status == nil || err != nil {
		return nil
	}
	for _, c := range status.Containers {
		if c.State != runtime.ContainerRunning {
			continue
		}
		if stats, err := k.runtime.ContainerStats(c.ID); err == nil {
			list = append(list, used{c.Name, stats.Rootfs + stats.Logs})
		}
	}
	return list
}

// usedByVolumes returns what a pod's volumes hold that are on the node's disk and go with the pod.
func (k *kubelet) usedByVolumes(ctx context.Context, w *podWorker) (total int64) {
	local := map[string]bool{}
	for i := range w.pod.Spec.Volumes {
		v := &w.pod.Spec.Volumes[i]
		local[v.Name] = isLocalEphemeral(v)
	}
	list, err := k.volumes.VolumeStats(ctx, w.pod, func(name string) bool { return local[name] })
	if err != nil {
		return 0
	}
	for _, stats := range list {
		total += stats.Used.Value()
	}
	return total
}

// isLocalEphemeral reports whether a volume is on the node's disk and goes with its pod.
//
// Upstream: pkg/volume/util/util.go IsLocalEphemeralVolume, v1.37.2.
func isLocalEphemeral(v *v1.Volume) bool {
	return v.EmptyDir != nil && v.EmptyDir.Medium == v1.StorageMediumDefault || v.ConfigMap != nil
}

// containerLimit says which container has written more than it may, "" if none has.
//
// Upstream: eviction_manager.go containerEphemeralStorageLimitEviction, v1.37.2.
func containerLimit(pod *v1.Pod, list []used) string {
	limits := map[string]*resource.Quantity{}
	note := func(c *v1.Container) {
		if limit := c.Resources.Limits.StorageEphemeral(); limit.Value() != 0 {
			limits[c.Name] = limit
		}
	}
	for i := range pod.Spec.Containers {
		note(&pod.Spec.Containers[i])
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; isSidecar(c) {
			note(c)
		}
	}
	for _, c := range list {
		if limit := limits[c.container]; limit != nil && limit.CmpInt64(c.bytes) < 0 {
			return fmt.Sprintf(containerEphemeralStorageMessageFmt, c.container, limit.String())
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
