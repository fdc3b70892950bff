package kubelet

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// syncPeriod is the time between two comparisons of the pods' statuses with those that the kubelet has made.
//
// Upstream: status_manager.go syncPeriod, v1.37.2.
const syncPeriod = 10 * time.Second

// noticeStatus has the kubelet's own status written again, when statuses are compared next, if another client has changed it.
//
// Upstream: status_manager.go Start, syncBatch and needsReconcile, v1.37.2.
func (k *kubelet) noticeStatus(w *podWorker, old, pod *v1.Pod) {
	if w.written == nil {
		return
	}
	for i, sent := range w.sent {
		if ownEqual(&pod.Status, sent) {
			w.sent = w.sent[i:]
			return
		}
	}
	if ownEqual(&old.Status, &pod.Status) {
		return
	}
	if w.reconciles.IsZero() && !w.terminating() && !isTerminal(w.lastStatus().Phase) {
		now := k.env.Now()
		w.reconciles = k.started.Add(now.Sub(k.started).Truncate(syncPeriod) + syncPeriod)
		k.podQueue.AddAfter(string(w.uid), w.reconciles.Sub(now))
	}
}

// reconcile writes the kubelet's own status again if it is time for that. It reports whether the pod is not to be synced now: a pod whose phase was changed
// by hand goes on.
func (k *kubelet) reconcile(ctx context.Context, w *podWorker) (done bool, err error) {
	if w.reconciles.IsZero() || k.env.Now().Before(w.reconciles) {
		return false, nil
	}
	w.reconciles = time.Time{}
	if w.terminating() || w.written == nil {
		return false, nil
	}
	w.written = &w.pod.Status
	err = k.status.patchStatus(ctx, w, w.lastStatus())
	return err != nil || w.ended(), err
}

// ownEqual reports whether two statuses agree in what is the kubelet's.
//
// Upstream: status_manager.go isPodStatusByKubeletEqual, v1.37.2.
func ownEqual(is, want *v1.PodStatus) bool {
	return sameOwnConditions(is.Conditions, want.Conditions) && len(changedStatus(is, want)) == 0
}

// sameOwnConditions reports whether two lists have the same of the kubelet's conditions, in any order.
func sameOwnConditions(is, want []v1.PodCondition) bool {
	missing := func(from []v1.PodCondition) func(c v1.PodCondition) bool {
		return func(c v1.PodCondition) bool {
			found := findCondition(from, c.Type)
			return isOwnCondition(c.Type) && (found == nil || !sameCondition(*found, c))
		}
	}
	return !slices.ContainsFunc(is, missing(want)) && !slices.ContainsFunc(want, missing(is))
}
