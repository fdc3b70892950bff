package kubelet

import (
	"context"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/machine/shell"
	"github.com/storagesim/storagesim/trace"
)

// podWorker holds the kubelet's state of one pod, by UID: a later pod of the same name
// is another one.
//
// What says that something was done (stopped, released, removed, considered, rejected) is never taken back. gone is, if a relist brings the pod
// again. What the fields say of each other holds at each write of the kubelet: the tests look then.
//
// Upstream: pod_workers.go podSyncStatus, v1.37.
type podWorker struct {
	uid types.UID
	// pod is its latest state; nil for one that was only found on disk, and then gone is set. Only a pod that is known is considered, and
	// has directories.
	pod *v1.Pod
	// gone says that the API has no such pod any more.
	gone bool
	// ran says that this life has seen the pod's object in the phase Running; untold says that it has found the pod ended, and not yet
	// written what it knows of it.
	ran, untold bool
	// stopped says that the pod's containers were stopped and the API told, at its end.
	stopped bool
	// endedAs is the pod as it was when the kubelet began to stop its containers. What they told since does not count when nothing of it is left:
	// upstream's SyncTerminatedPod comes at once after SyncTerminatingPod, with the same pod, and waits for its volumes.
	endedAs *v1.Pod
	// removed says that the API was asked to remove the pod's object, which nothing of the node stands behind any more: it is stopped and released.
	removed bool
	// ends is when a pod that was deleted, or failed, while it waited for its volumes has ended.
	ends time.Time
	// foundEnding says that this life has found the pod when it was to end already.
	foundEnding bool
	// registered says that ConfigMaps and Secrets may be read for the pod: this life has begun to sync it before it was to end, and has not completed its end.
	registered bool
	// released says that no container needs the volumes any more. A pod may be released without being stopped: one that is refused, or that is
	// being stopped.
	released bool
	// sandboxSeen says that this life has seen the pod's sandbox ready, so that it knows its address.
	sandboxSeen bool
	// hasDirs says that the pod's directories were made in this life.
	hasDirs bool
	// syncing is the version of the pod with which the sync has begun that waits for its volumes; nil if none waits. What changes meanwhile counts
	// from the next sync on, which comes at once after this one.
	syncing *v1.Pod
	// backsOff is when a pod whose wait for its volumes has timed out is synced again, if it does not change before; zero once it is.
	backsOff time.Time
	// awaited says that the waits queue has the pod.
	awaited bool
	// deadline is when the pod's activeDeadlineSeconds are over, once that is awaited. It only becomes earlier.
	deadline time.Time
	// localStorageWatched says that the limits of its emptyDir volumes are looked at in this life.
	localStorageWatched bool
	// volumeStats says how full its volumes are.
	volumeStats volumeStatCalculator
	// considered says that this life has decided whether the pod may run here, and rejected that it may not. A rejected pod is considered once its
	// status was written or could not be.
	considered, rejected bool
	// failure is why the kubelet ends the pod, nil if it does not. The first reason stays.
	failure *podFailure
	// restarting says that the restarts queue has the pod, since a container could not
	// be created; nextStart is when one that has ended is started again, if that is
	// awaited, and backOffs how long they wait.
	restarting bool
	nextStart  time.Time
	backOffs   backOffs
	// waits is why containers are not created yet, by name.
	waits map[string]*containerWaiting
	// envSources holds what was last read of the ConfigMaps and Secrets that environments come from; nil before the first time.
	envSources map[envSource]envValues
	// busy says that a queue's worker works on the pod, and free is opened when it no longer does; free is nil before the first time.
	busy bool
	free *gate
	// news is opened when a task beside the worker is done, or a probe's result has changed. It is never nil.
	news *gate
	// restartedAll is when all its containers were restarted last, restartsOfAll how often in a row, and attempts are the numbers of those that
	// come after containers that were removed, by name. The first two are zero until the first time, and neither is afterwards.
	restartedAll  time.Time
	restartsOfAll int
	attempts      map[string]int32
	// status is the status that was made last, and written the one that the API has accepted last; nil before the first one. What is written was
	// made, and they differ while a write has failed.
	status, written *v1.PodStatus
	// sent holds the statuses that were written and of which the cache has not told; the first it may have told.
	sent []*v1.PodStatus
	// reconciles is when the status is written again that another client has changed, zero if none has.
	reconciles time.Time
}

// terminating reports whether the pod is to end.
func (w *podWorker) terminating() bool {
	return w.gone || w.pod.DeletionTimestamp != nil
}

// wantsVolumes reports whether the pod is to have its volumes.
func (w *podWorker) wantsVolumes() bool {
	return !w.released && !w.rejected && !w.terminating() && !w.ended()
}

// ended reports whether the pod has ended by itself.
func (w *podWorker) ended() bool {
	return isTerminal(w.pod.Status.Phase)
}

func (w *podWorker) ref() trace.Ref {
	if w.pod == nil {
		return trace.Ref{Kind: "Pod", Name: string(w.uid)}
	}
	return trace.RefOf("Pod", w.pod)
}

// aboutPod returns what a queue's key, a pod's UID, stands for.
func (k *kubelet) aboutPod(key string) string {
	if w := k.workers[types.UID(key)]; w != nil {
		return w.ref().String()
	}
	return trace.Ref{Kind: "Pod", Name: key}.String()
}

// GetPodByUID implements volumemanager.Pods.
func (k *kubelet) GetPodByUID(uid types.UID) *v1.Pod {
	if w := k.workers[uid]; w != nil {
		return w.pod
	}
	return nil
}

// WantsVolumes implements volumemanager.Pods.
func (k *kubelet) WantsVolumes(uid types.UID) bool {
	w := k.workers[uid]
	return w != nil && (w.wantsVolumes() || w.rejected && k.leftAlone(w) > 0 || k.endsWithVolumes(w))
}

// endsWithVolumes reports whether a pod that this life has found when it was to end already has containers of an earlier life, which need its volumes
// until they have ended.
//
// Upstream: desired_state_of_world_populator.go findAndAddNewPods, before hasAddedPods, v1.37.2.
func (k *kubelet) endsWithVolumes(w *podWorker) bool {
	if !w.foundEnding || w.gone || w.stopped || w.released || w.rejected || w.ended() {
		return false
	}
	sandbox, err := k.runtime.PodSandboxStatus(w.uid)
	return err == nil && sandbox != nil && slices.ContainsFunc(sandbox.Containers, func(c runtime.ContainerStatus) bool {
		return c.State == runtime.ContainerRunning
	})
}

// HasReleasedVolumes implements volumemanager.Pods.
func (k *kubelet) HasReleasedVolumes(uid types.UID) bool {
	w := k.workers[uid]
	return w != nil && w.released
}

// IsRegistered implements volumemanager.Pods.
func (k *kubelet) IsRegistered(uid types.UID) bool {
	w := k.workers[uid]
	return w != nil && w.registered
}

// WakePod implements volumemanager.Waker.
func (k *kubelet) WakePod(uid types.UID) { k.podQueue.Add(string(uid)) }

// probedAnew brings back a pod of whose probes one has another result.
//
// Upstream: kubelet.go handleProbeSync, v1.37.2.
func (k *kubelet) probedAnew(uid types.UID) {
	if w := k.workers[uid]; w != nil {
		w.news.open()
	}
	k.WakePod(uid)
}

// ReportNodeStatus implements volumemanager.Waker.
func (k *kubelet) ReportNodeStatus() { k.node.ReportLater() }

func (k *kubelet) podAdded(pod *v1.Pod) {
	w := k.workers[pod.UID]
	if w == nil {
		w = &podWorker{uid: pod.UID, news: newGate()}
		k.workers[pod.UID] = w
		k.volumes.ExpectPod(pod.UID)
	}
	old := w.pod
	if w.gone {
		old = nil
	}
	changed := old != nil && factsChanged(old, pod)
	w.pod, w.gone = pod, false
	if changed && !w.backsOff.IsZero() {
		w.backsOff = k.env.Now()
	}
	w.ran = w.ran || pod.Status.Phase == v1.PodRunning
	w.untold = w.untold || old == nil && w.ended()
	undecided := old == nil && pod.DeletionTimestamp != nil // lookAtVolumes comes
	w.foundEnding = w.foundEnding || undecided
	k.volumes.UpdatePod(pod, old == nil && !undecided, changed)
	if old != nil {
		k.noticeStatus(w, old, pod)
	}
	if changed || old == nil || w.statusMatters(old, pod) {
		k.podQueue.Add(string(pod.UID))
	}
}

// statusMatters reports whether a pod must be looked at although perhaps only its status
// has changed by this kubelet's own write. That another client has changed the phase is noticed by the next sync.
//
// Upstream: kubelet.go HandlePodReconcile, v1.37.
func (w *podWorker) statusMatters(old, pod *v1.Pod) bool {
	ended := isTerminal(pod.Status.Phase) && !isTerminal(old.Status.Phase) && (w.status == nil || isTerminal(w.status.Phase))
	return ended || len(pod.Spec.ReadinessGates) > 0
}

// podUpdated may find, after a relist, another pod under the same name.
func (k *kubelet) podUpdated(old, pod *v1.Pod) {
	if old.UID != pod.UID {
		k.podDeleted(old)
	}
	k.podAdded(pod)
}

func (k *kubelet) podDeleted(pod *v1.Pod) {
	w := k.workers[pod.UID]
	if w == nil {
		return
	}
	w.pod, w.gone = pod, true
	k.podQueue.Add(string(pod.UID))
}

// adoptOrphans gives every pod that was found on disk and does not exist a
// worker, which ends it.
//
// Upstream: kubelet_pods.go HandlePodCleanups, v1.37.
func (k *kubelet) adoptOrphans() {
	for _, uid := range k.onDisk {
		if k.workers[uid] == nil {
			k.workers[uid] = &podWorker{uid: uid, gone: true, news: newGate()}
			k.podQueue.Add(string(uid))
		}
	}
	k.onDisk = nil
}

// hold waits until no worker of another queue works on the pod, and keeps others from it until release is called.
func (k *kubelet) hold(ctx context.Context, w *podWorker) (release func(), err error) {
	for w.busy {
		if _, err := w.free.wait(control.InBackground(ctx), k.env, shell.Forever); err != nil {
			return nil, err
		}
	}
	w.busy, w.free = true, newGate()
	return func() {
		w.busy = false
		w.free.open()
	}, nil
}

// syncPodWorker brings one pod a step further.
//
// Upstream: pod_workers.go podWorkerLoop, v1.37.
func (k *kubelet) syncPodWorker(ctx context.Context, key string) error {
	w := k.workers[types.UID(key)]
	if w == nil {
		return nil
	}
	release, err := k.hold(ctx, w)
	if err != nil {
		return err
	}
	defer release()
	if done, err := k.reconcile(ctx, w); done || err != nil {
		return err
	}
	admitted, err := k.admitPod(ctx, w)
	switch {
	case err != nil:
		return err
	case admitted:
	case k.leftAlone(w) > 0:
		k.podQueue.AddAfter(key, k.leftAlone(w))
		return nil
	case !w.terminating():
		return k.endRefusedPod(ctx, w)
	}
	status, err := k.podStatus(w)
	if err == nil && !w.terminating() && !w.ended() && k.readsEnvSources(w, status) {
		k.fetchEnvSources(ctx, w)
		status, err = k.podStatus(w)
	}
	if err != nil {
		return err
	}
	// This is looked at when a sync begins, also one of a pod that is to end, as in generateAPIPodStatus. One that waits for volumes has begun before.
	if w.pod != nil && !w.gone && !w.ended() && w.failure == nil && !(w.syncing != nil && !w.terminating()) && k.pastActiveDeadline(w) {
		w.failure = &podFailure{reason: deadlineReason, message: deadlineMessage}
		k.recorder.Event(w.pod, v1.EventTypeNormal, deadlineReason, deadlineMessage)
	}
	if w.terminating() {
		return k.syncTerminatingPod(ctx, w, status)
	}
	if w.ended() {
		return k.finishPod(ctx, w, status)
	}
	if w.failure != nil {
		return k.failPod(ctx, w, status)
	}
	return k.syncPod(ctx, w, status)
}

// factsChanged reports whether a pod tells its volumes anything new: not its status alone.
//
// Upstream: pkg/kubelet/config/config.go podsDifferSemantically, v1.37.
func factsChanged(old, pod *v1.Pod) bool {
	return old.Generation != pod.Generation || !maps.Equal(old.Labels, pod.Labels) || !maps.Equal(old.Annotations, pod.Annotations)
}
