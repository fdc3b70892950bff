package kubelet

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
)

// What a pod is told that was active for too long.
//
// Upstream: active_deadline.go, v1.37.
const (
	deadlineReason  = "DeadlineExceeded"
	deadlineMessage = "Pod was active on the node longer than the specified deadline"
)

// pastActiveDeadline reports whether the pod has run for its activeDeadlineSeconds. If
// it has not yet, it is looked at again when it will have.
//
// Upstream: active_deadline.go pastActiveDeadline, v1.37.
func (k *kubelet) pastActiveDeadline(w *podWorker) bool {
	start := w.pod.Status.StartTime
	if w.status != nil {
		start = w.status.StartTime
	}
	if w.pod.Spec.ActiveDeadlineSeconds == nil || start == nil {
		return false
	}
	deadline := start.Add(time.Duration(*w.pod.Spec.ActiveDeadlineSeconds) * time.Second)
	if !k.env.Now().Before(deadline) {
		return true
	}
	if w.deadline.IsZero() || deadline.Before(w.deadline) {
		w.deadline = deadline
		k.awaitDeadline(w, deadline.Sub(k.env.Now()))
	}
	return false
}

// awaitDeadline queues the pod after d. Settle does not wait for that.
func (k *kubelet) awaitDeadline(w *podWorker, d time.Duration) {
	k.env.Go("active deadline of "+w.ref().String(), func(ctx context.Context) {
		never := func(context.Context) (bool, error) { return false, nil }
		// It ends with the context, before it ever looks.
		_ = k.env.Poll(control.WithTimeout(ctx, k.env, d), d+time.Second, d+time.Second, never)
		k.podQueue.Add(string(w.uid))
	})
}

// podFailure is why the kubelet ends a pod.
type podFailure struct {
	reason, message string
	// rejected says that a sync has given up the pod before it began, whose first status says nothing else.
	rejected bool
	// disrupts is the message of the condition DisruptionTarget, "" if it has none.
	disrupts string
	// done is opened when the pod's containers have ended; nil if nothing waits for that.
	done *gate
}

// ended tells what waits for the pod's end that its containers have ended.
func (f *podFailure) ended() {
	if f != nil && f.done != nil {
		f.done.open()
	}
}

// disrupted adds the condition of a pod that has failed since it was ended in favour of another one.
func (f *podFailure) disrupted(s *v1.PodStatus, pod *v1.Pod, now metav1.Time) {
	if f != nil && f.disrupts != "" && s.Phase == v1.PodFailed && findCondition(s.Conditions, v1.DisruptionTarget) == nil {
		s.Conditions = append(s.Conditions, v1.PodCondition{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonTerminationByKubelet,
			Message: f.disrupts, ObservedGeneration: pod.Generation, LastTransitionTime: now})
	}
}

// failPod ends a pod that the kubelet gives up: its containers, and then its volumes. A status that cannot be written keeps none of that.
//
// Upstream: kubelet.go SyncTerminatingPod, v1.37.2.
func (k *kubelet) failPod(ctx context.Context, w *podWorker, r *podStatus) error {
	if r == nil {
		return k.failUnstarted(ctx, w)
	}
	if !r.stopped { // as long as containers could run the phase stays
		want := k.status.generateAPIPodStatus(w, r, false)
		keepPhase(w.lastStatus(), want)
		if err := k.status.patchStatus(ctx, w, want); ctx.Err() != nil {
			return err
		}
	}
	r, err := k.killPod(ctx, w)
	if err != nil {
		return err
	}
	unwritten := k.status.writeStatus(ctx, w, r, true)
	if ctx.Err() == nil {
		w.failure.ended()
		k.releaseVolumes(w)
	}
	return unwritten
}

// failUnstarted ends a pod that has nothing in the runtime. Until its worker has completed that, containers of it could run, so that the API sees the
// failure only then, and that of the containers with it. Volumes that are not mounted are still tried, without its ConfigMaps and Secrets.
//
// Upstream: status_manager.go mergePodStatus and TerminatePod, kubelet.go SyncTerminatedPod, v1.37.2.
func (k *kubelet) failUnstarted(ctx context.Context, w *podWorker) error {
	want, now, end := k.status.generateAPIPodStatus(w, nil, true), k.env.Now(), k.endOf(w)
	if now.Before(end) {
		next, old := end, w.lastStatus()
		if begins := end.Add(-plegRelistPeriod); w.failure.rejected && now.Before(begins) {
			next, want = begins, bareStatus(old)
		}
		keepPhase(old, want)
		k.podQueue.AddAfter(string(w.uid), next.Sub(now))
		return k.status.patchStatus(ctx, w, want)
	}
	k.releaseVolumes(w)
	w.registered = false
	w.failure.ended()
	want = terminatePod(w.pod, want)
	w.failure.disrupted(want, w.pod, k.status.now())
	return k.status.patchStatus(ctx, w, want)
}

// bareStatus returns the status of a pod that is given up as it is first: phase, reason and message alone.
//
// Upstream: kubelet.go rejectPod, and status_manager.go updateStatusInternal and mergePodStatus, v1.37.2, which keep what is not the kubelet's.
func bareStatus(old *v1.PodStatus) *v1.PodStatus {
	s := old.DeepCopy()
	s.Conditions = slices.DeleteFunc(s.Conditions, func(c v1.PodCondition) bool { return isOwnCondition(c.Type) })
	s.HostIP, s.HostIPs, s.PodIP, s.PodIPs = "", nil, "", nil
	s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses = nil, nil, nil
	s.Resources, s.AllocatedResources = nil, nil
	return s
}
