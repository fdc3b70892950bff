package kubelet

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/kubelet/internal/layout"
)

// syncPod brings a pod that is to run a step further: it reports it pending,
// waits until its volumes are mounted, starts its containers and reports that. One
// whose containers have ended for good gives up its volumes. r is nil for a pod that has
// no sandbox.
//
// Upstream: kubelet.go SyncPod and SyncTerminatedPod, v1.37.
func (k *kubelet) syncPod(ctx context.Context, w *podWorker, r *podStatus) error {
	pod := w.pod
	w.registered = true
	if r != nil {
		if err := k.writeStarted(ctx, w, r); ctx.Err() != nil { // what cannot be written now is written with the rest
			return err
		}
	}
	if r != nil && w.syncing == nil && !restartCleanedUp(r) && shouldAllContainersRestart(pod, r, w.lastStatus()) {
		var err error
		if r, err = k.restartAll(ctx, w, pod, r); err != nil {
			return err
		}
	}
	started := false
	if r == nil || !r.begun() || r.beginsAnew(pod) {
		var err error
		started = true
		if r, err = k.beginPod(ctx, w, r); r == nil || err != nil {
			return err
		}
	} else {
		var err error
		if r, started, err = k.syncBegun(ctx, w, r); r == nil || err != nil {
			return err
		}
	}
	r, err := k.endRest(ctx, w, r)
	if err != nil {
		return err
	}
	if started && !w.terminating() && k.pastActiveDeadline(w) { // what has started is written by the next sync, which finds that
		k.podQueue.Add(string(w.uid))
		return nil
	}
	unwritten := k.status.writeStatus(ctx, w, r, false) // the pod goes on all the same, and the status is written when it can be
	if ctx.Err() != nil {
		return unwritten
	}
	k.watchLocalStorage(w, r)
	if shouldAllContainersRestart(w.pod, r, w.lastStatus()) && !w.terminating() {
		k.podQueue.Add(string(w.uid))
		return unwritten
	}
	if k.pastActiveDeadline(w) { // which counts from the start in the status
		k.podQueue.Add(string(w.uid))
		return unwritten
	}
	switch {
	case started && r.goesOn(w.pod): // its status says what has begun before the next one does
		k.podQueue.Add(string(w.uid))
	case r.startsMore(w.pod):
		k.restartLater(w, r)
	case r.finished(): // by itself; its directory stays until it is deleted
		return errors.Join(unwritten, k.finishPod(ctx, w, r))
	}
	return unwritten
}

// syncBegun starts what is to be started of a pod that has begun, and ends what is not to run on; started says that there was something. A pod that wants
// another volume, or whose volumes a new life of the kubelet has not found yet, waits for that: it returns no status then.
//
// Upstream: kubelet.go SyncPod and kuberuntime_manager.go SyncPod, v1.37.2.
func (k *kubelet) syncBegun(ctx context.Context, w *podWorker, r *podStatus) (_ *podStatus, started bool, err error) {
	pod, mounted := w.pod, k.volumes.AreMounted(w.uid)
	waits := !mounted && k.volumes.ArePopulated(w.uid) && (r.running() || r.startsMore(pod))
	if waits || w.syncing != nil || !w.backsOff.IsZero() {
		if pod, mounted = k.syncBegins(w); !mounted {
			return nil, false, nil
		}
		if err := k.writeBegin(ctx, w, r); ctx.Err() != nil || w.terminating() || !k.waitForAttachAndMount(ctx, w, pod) {
			return nil, false, err
		}
		if r, err = k.podStatusOf(w, pod); r == nil || err != nil {
			return nil, false, err
		}
	}
	if !mounted {
		return r, false, nil
	}
	k.prober.AddPod(w.pod)
	if r.goesOn(pod) && !factsChanged(pod, w.pod) {
		if err := k.status.writeStatus(ctx, w, r, false); ctx.Err() != nil { // what cannot be written now is written with the rest
			return nil, false, err
		}
	}
	killed, err := k.killUnhealthy(ctx, w, pod, r)
	if err != nil {
		return nil, false, err
	}
	if started = killed || r.goesOn(pod); started {
		if err := k.startPod(ctx, w, pod, r); err != nil {
			return nil, false, err
		}
	}
	r, err = k.followedBy(w, pod, r)
	return r, started, err
}

// followedBy has a pod synced again at once that has changed since a sync has begun with it, and returns the status of the pod as it is now.
func (k *kubelet) followedBy(w *podWorker, pod *v1.Pod, r *podStatus) (*podStatus, error) {
	if !factsChanged(pod, w.pod) {
		return r, nil
	}
	k.volumes.ReprocessPod(w.uid) // the next sync does
	k.podQueue.Add(string(w.uid))
	return k.podStatus(w)
}

// endRest stops what still runs of a pod whose containers have ended for good: sidecars and ephemeral containers.
//
// Upstream: kuberuntime_manager.go computePodActions and SyncPod, kubelet.go SyncTerminatingPod, v1.37.2.
func (k *kubelet) endRest(ctx context.Context, w *podWorker, r *podStatus) (*podStatus, error) {
	rest := slices.Concat(r.Init, r.Ephemeral)
	ended := r.finished() || r.initFailed(w.pod) && !r.running()
	if r.startsMore(w.pod) || !ended || !slices.ContainsFunc(rest, containerState.running) {
		return r, nil
	}
	if err := k.status.writeStatus(ctx, w, r, false); ctx.Err() != nil { // what cannot be written now is written with the rest
		return nil, err
	}
	if err := k.killContainers(ctx, w, w.pod, rest, nil); err != nil {
		return nil, err
	}
	return k.podStatus(w)
}

// finishPod takes network and volumes from a pod whose containers have ended for good. Those that were never created count as ended then.
//
// Upstream: kubelet.go SyncTerminatedPod, v1.37.2.
func (k *kubelet) finishPod(ctx context.Context, w *podWorker, r *podStatus) error {
	if err := k.runtime.StopPodSandbox(w.uid); err != nil {
		return err
	}
	k.releaseVolumes(w)
	if w.untold {
		return k.retellEnd(ctx, w, r)
	}
	if err := k.writeTerminated(ctx, w); err != nil || w.terminating() || !k.volumes.WaitForUnmount(w.uid) || k.volumes.PodVolumesExist(w.uid) {
		return err
	}
	w.registered = false
	return k.status.patchStatus(ctx, w, terminatePod(w.pod, w.lastStatus()))
}

// retellEnd writes, once, what this life of the kubelet knows of a pod that had ended before it, such as that it has no address any more, and tells
// again that it is past its deadline. Of a pod without containers nothing is known.
//
// Upstream: pod_workers.go UpdatePod for a pod whose containers and sandbox are ended, kubelet.go SyncTerminatedPod and active_deadline.go
// ShouldEvict, v1.37.2.
func (k *kubelet) retellEnd(ctx context.Context, w *podWorker, r *podStatus) error {
	if r == nil || !r.begun() {
		return nil
	}
	if k.pastActiveDeadline(w) {
		k.recorder.Event(w.pod, v1.EventTypeNormal, deadlineReason, deadlineMessage)
	}
	err := k.status.writeStatus(ctx, w, r, true)
	w.untold = err != nil
	return err
}

// beginPod starts a pod's containers for the first time, or anew in another sandbox, init containers too. It returns no status as long
// as the pod's volumes are not there: the next operation that ends brings the pod back.
//
// Upstream: kubelet.go SyncPod and kuberuntime_manager.go SyncPod, v1.37.
func (k *kubelet) beginPod(ctx context.Context, w *podWorker, r *podStatus) (*podStatus, error) {
	pod, begins := k.syncBegins(w)
	if !begins {
		return nil, nil
	}
	unwritten := k.writeBegin(ctx, w, r)
	if ctx.Err() != nil {
		return nil, unwritten
	}
	if err := k.makePodDataDirs(w); err != nil {
		return nil, err
	}
	if w.terminating() || !k.waitForAttachAndMount(ctx, w, pod) {
		return nil, unwritten
	}
	k.prober.AddPod(w.pod)
	if r == nil || r.stopped {
		if err := k.runPodSandbox(pod); err != nil {
			return nil, err
		}
	}
	if err := k.purgeInitContainers(w, r); err != nil {
		return nil, err
	}
	if err := k.status.sandboxReady(ctx, w); ctx.Err() != nil { // what cannot be written now is written with the rest
		return nil, err
	}
	if w.terminating() || !k.volumes.AreMounted(w.uid) { // it was asked to end meanwhile
		return nil, nil
	}
	r, err := k.podStatusOf(w, pod)
	if r != nil && err == nil {
		err = k.startPod(ctx, w, pod, r)
	}
	if err != nil || ctx.Err() != nil {
		return r, err
	}
	return k.followedBy(w, pod, r)
}

// writeBegin writes the status with which a sync begins. One that waits for volumes has begun with the pod as it was then: what could not be written is.
func (k *kubelet) writeBegin(ctx context.Context, w *podWorker, r *podStatus) error {
	if w.syncing != nil {
		return k.status.patchStatus(ctx, w, w.lastStatus())
	}
	return k.status.writeStatus(ctx, w, r, false)
}

// purgeInitContainers removes the init containers of a sandbox that was stopped, so that they run again.
//
// Upstream: kuberuntime_container.go purgeInitContainers, v1.37.2.
func (k *kubelet) purgeInitContainers(w *podWorker, r *podStatus) error {
	if r == nil || !r.stopped {
		return nil
	}
	for i := range r.Init {
		if err := k.removeContainer(w, &r.Init[i]); err != nil {
			return err
		}
	}
	return nil
}

// makePodDataDirs makes the pod's directories.
//
// Upstream: kubelet_pods.go makePodDataDirs, v1.37.
func (k *kubelet) makePodDataDirs(w *podWorker) error {
	if w.hasDirs {
		return nil
	}
	for _, dir := range []string{layout.PodVolumesDir(w.uid), layout.PodPluginsDir(w.uid)} {
		if err := k.fs.MkdirAll(dir, 0o750); err != nil {
			k.recorder.Eventf(w.pod, v1.EventTypeWarning, "Failed", "error making pod data directories: %v", err)
			return fmt.Errorf("error making pod data directories: %w", err)
		}
	}
	w.hasDirs = true
	return nil
}

// releaseVolumes lets the volume loops take the pod's volumes away.
func (k *kubelet) releaseVolumes(w *podWorker) {
	w.released = true
	k.volumes.ReleasePod(w.uid, w.gone)
}

// syncTerminatingPod ends a pod: containers first, then volumes, then directories, and
// last the API object, which nothing of the node stands behind any more. The directory of a pod that finalizers keep goes after it,
// and so does its sandbox, of which the next life of the kubelet knows that it has no address.
//
// Upstream: kubelet.go SyncTerminatingPod and SyncTerminatedPod, status_manager.go syncPod, kubelet_volumes.go cleanupOrphanedPodDirs, v1.37.2.
func (k *kubelet) syncTerminatingPod(ctx context.Context, w *podWorker, r *podStatus) error {
	if w.removed && !w.gone || k.endsLater(w, r) {
		return nil
	}
	unwritten, err := k.stopPod(ctx, w, r)
	if err != nil {
		return err
	}
	k.releaseVolumes(w)
	if !k.volumes.WaitForUnmount(w.uid) || !w.gone && k.volumes.PodVolumesExist(w.uid) {
		return unwritten
	}
	last := w.gone || len(w.pod.Finalizers) == 0
	if k.volumes.IsMounting(w.uid) {
		if w.gone {
			return unwritten
		}
	} else if last {
		if err := k.volumes.RemovePodDir(w.uid); err != nil {
			return err
		}
	}
	if last {
		if err := k.runtime.RemovePodSandbox(w.uid); err != nil {
			return err
		}
	}
	if w.gone {
		delete(k.workers, w.uid)
		k.volumes.ForgetPod(w.uid)
		return nil
	}
	w.registered = false
	if err := k.status.patchStatus(ctx, w, terminatePod(w.endedAs, w.lastStatus())); err != nil {
		return err
	}
	return k.deletePodObject(ctx, w)
}

// stopPod ends the pod's containers and tells the API, before and after. It does so
// once: when the containers are removed nothing is known of them any more. Of a pod that had ended before this life
// of the kubelet the address is not known any more either, and it writes that. unwritten is why the API does not have the
// status yet: the pod ends all the same, and the status is written when it can be.
//
// Upstream: kubelet.go SyncTerminatingPod, v1.37.2.
func (k *kubelet) stopPod(ctx context.Context, w *podWorker, r *podStatus) (unwritten, err error) {
	if w.stopped && !w.gone {
		unwritten = k.status.patchStatus(ctx, w, w.lastStatus())
	}
	if !w.stopped {
		w.endedAs = w.pod
	}
	told := w.gone || w.stopped || w.rejected || isTerminal(w.writtenStatus().Phase) && (r == nil && !w.untold || r != nil && r.IP != "")
	if !told {
		unwritten = k.status.writeStatus(ctx, w, r, false)
	}
	if ctx.Err() != nil {
		return nil, unwritten
	}
	if r, err = k.killPod(ctx, w); err != nil {
		return nil, err
	}
	if !told && !w.gone {
		unwritten = k.status.writeStatus(ctx, w, r, true)
	}
	if ctx.Err() != nil {
		return nil, unwritten
	}
	w.stopped = true
	w.failure.ended()
	if told || unwritten != nil {
		return unwritten, nil
	}
	return k.writeTerminated(ctx, w), nil
}

// killPod stops the containers that run, and then the sandbox. It takes as long as the containers do.
//
// Upstream: kuberuntime_manager.go killPodWithSyncResult, and kubelet.go
// SyncTerminatingRuntimePod for a pod of which only the runtime knows, v1.37.
func (k *kubelet) killPod(ctx context.Context, w *podWorker) (*podStatus, error) {
	r, err := k.podStatus(w)
	if r == nil || err != nil {
		return nil, err
	}
	if w.pod != nil {
		k.prober.StopLivenessAndStartup(w.pod)
	}
	grace := w.effectiveGracePeriod()
	if err := k.killContainers(ctx, w, r.about, slices.Concat(r.Containers, r.Init, r.Ephemeral), &grace); err != nil {
		return nil, err
	}
	if w.pod != nil {
		k.prober.RemovePod(w.pod)
	}
	if err := k.runtime.StopPodSandbox(w.uid); err != nil {
		return nil, err
	}
	return k.podStatus(w)
}

// deletePodObject removes the pod from the API: this one, not a later one of the
// same name.
func (k *kubelet) deletePodObject(ctx context.Context, w *podWorker) error {
	now := int64(0)
	err := k.env.Client().CoreV1().Pods(w.pod.Namespace).Delete(ctx, w.pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &w.uid},
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	w.removed = true
	return nil
}
