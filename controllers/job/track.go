package job

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// maxUncounted is the number of pods that are counted in one look.
// Upstream: job_controller.go MaxUncountedPods, v1.37.
const maxUncounted = 500

// track counts the pods that have ended: it writes their UIDs into the status, removes their finalizers, and writes the new
// numbers, with the last condition if the Job is finished. changed says that the status has changed in any case.
// Upstream: job_controller.go trackJobStatusAndRemoveFinalizers, v1.37.
func (l *look) track(ctx context.Context, changed bool) error {
	tracked := map[types.UID]bool{}
	for _, pod := range l.pods {
		if isTracked(pod) && !l.removing[pod.UID] {
			tracked[pod.UID] = true
		}
	}
	if l.countUntracked(tracked) {
		changed = true
	}
	ended, noted, all := l.noteEnded()
	interim := l.noteInterim()
	if noted || interim || changed {
		if err := l.writeStatus(ctx); err != nil {
			return fmt.Errorf("adding uncounted pods to status: %w", err)
		}
		l.backoffs[l.key] = l.backoff
	}
	removeErr := l.removeFinalizers(ctx, ended, tracked)
	changed = l.countUntracked(tracked)
	if removeErr != nil {
		if changed {
			if err := l.writeStatus(ctx); err != nil {
				return fmt.Errorf("removing uncounted pods from status: %w", err)
			}
		}
		return removeErr
	}
	finished := all && l.enactFinished()
	if !changed && !finished {
		return nil
	}
	if err := l.writeStatus(ctx); err != nil {
		return fmt.Errorf("removing uncounted pods from status: %w", err)
	}
	if finished {
		l.recordFinished()
		l.finished[l.job.UID] = true
	}
	return nil
}

// noteEnded notes in the status the pods that have ended and are not counted yet, and returns the pods that need their finalizer no
// more. noted says that the status has changed, all that no pod is left for the next look.
func (l *look) noteEnded() (ended []*v1.Pod, noted, all bool) {
	uncounted, pods := l.job.Status.UncountedTerminatedPods, l.pods
	var indexes []int
	if isIndexed(l.job) {
		pods = slices.Clone(pods)
		slices.SortStableFunc(pods, func(a, b *v1.Pod) int { return cmp.Compare(indexOf(a), indexOf(b)) })
	}
	all = true
	for _, pod := range pods {
		if !isTracked(pod) || l.removing[pod.UID] || !l.isCountable(pod) {
			continue
		}
		ended = append(ended, pod)
		index, valid := indexOf(pod), !isIndexed(l.job) || l.isIndex(indexOf(pod))
		switch {
		case !valid:
		case pod.Status.Phase == v1.PodSucceeded && !l.wasUncounted.failed[pod.UID]:
			if isIndexed(l.job) && !l.before.has(index) {
				indexes, noted = append(indexes, index), true
			} else if !isIndexed(l.job) && !l.wasUncounted.succeeded[pod.UID] {
				uncounted.Succeeded, noted = append(uncounted.Succeeded, pod.UID), true
			}
		case l.countsAsFailed(pod) && !l.wasUncounted.failed[pod.UID] && l.counts(pod):
			uncounted.Failed, noted = append(uncounted.Failed, pod.UID), true
		}
		if len(indexes)+len(uncounted.Succeeded)+len(uncounted.Failed) >= maxUncounted {
			all = false
			break
		}
	}
	if isIndexed(l.job) {
		l.indexes = l.before.with(indexes)
		noted = noted || l.indexes.String() != l.job.Status.CompletedIndexes
		l.job.Status.Succeeded, l.job.Status.CompletedIndexes = int32(l.indexes.total()), l.indexes.String()
		if failed := l.failedIndexes.String(); hasLimitPerIndex(l.job) && (l.job.Status.FailedIndexes == nil || *l.job.Status.FailedIndexes != failed) {
			l.job.Status.FailedIndexes, noted = &failed, true
		}
	}
	return ended, noted, all
}

// isCountable reports whether a pod may be counted and go: it has ended, or all of the Job does. A failed pod whose index has a limit of its own stays until
// the next pod of the index has its count.
// Upstream: job_controller.go canRemoveFinalizer, v1.37.
func (l *look) isCountable(pod *v1.Pod) bool {
	return l.job.DeletionTimestamp != nil || l.condition != nil || pod.Status.Phase == v1.PodSucceeded || l.hasFailed(pod) && l.delayed[indexOf(pod)] != pod
}

// countsAsFailed reports whether a pod that has not succeeded has failed. At the end of a Job that has failed each other pod has.
func (l *look) countsAsFailed(pod *v1.Pod) bool {
	return l.hasFailed(pod) || l.condition != nil && l.condition.Type != batchv1.JobSuccessCriteriaMet
}

// noteInterim notes in the status that the Job is at its end, before its pods may go, and turns the condition into the last one:
// Failed or Complete. It reports whether the status has changed.
func (l *look) noteInterim() (changed bool) {
	if l.condition == nil {
		return false
	}
	last := batchv1.JobComplete
	switch l.condition.Type {
	case batchv1.JobFailureTarget:
		last, changed = batchv1.JobFailed, true
	case batchv1.JobSuccessCriteriaMet:
		changed = conditionOf(l.job, batchv1.JobSuccessCriteriaMet) == nil
	default:
		return false // an earlier look has noted it
	}
	if changed {
		l.job.Status.Conditions = append(l.job.Status.Conditions, *l.condition)
	}
	l.condition = l.newCondition(last, v1.ConditionTrue, l.condition.Reason, l.condition.Message)
	return changed
}

// countUntracked counts the noted pods that have no finalizer any more, and reports whether there were any.
// Upstream: job_controller.go cleanUncountedPodsWithoutFinalizers, v1.37.
func (l *look) countUntracked(tracked map[types.UID]bool) (changed bool) {
	status := &l.job.Status
	count := func(uids *[]types.UID, n *int32) {
		var left []types.UID
		for _, uid := range *uids {
			if tracked[uid] {
				left = append(left, uid)
			}
		}
		if counted := len(*uids) - len(left); counted > 0 {
			*n, *uids, changed = *n+int32(counted), left, true
		}
	}
	count(&status.UncountedTerminatedPods.Succeeded, &status.Succeeded)
	count(&status.UncountedTerminatedPods.Failed, &status.Failed)
	return changed
}

// removeFinalizers lets pods go, and takes those for which it could out of tracked. One that is gone is no error.
// Upstream: job_controller.go removeTrackingFinalizerFromPods, v1.37.
func (l *look) removeFinalizers(ctx context.Context, pods []*v1.Pod, tracked map[types.UID]bool) (first error) {
	if len(pods) > 0 && l.removals[l.key] == nil {
		l.removals[l.key] = map[types.UID]bool{}
	}
	for _, pod := range pods {
		l.removals[l.key][pod.UID] = true
		if err := l.removeFinalizer(ctx, pod); err != nil {
			delete(l.removals[l.key], pod.UID)
			if !apierrors.IsNotFound(err) {
				if first == nil {
					first = err
				}
				continue
			}
		}
		delete(tracked, pod.UID)
	}
	return first
}

// enactFinished gives the Job its last condition, once all its pods have ended and are counted, and reports whether it did.
// Upstream: job_controller.go enactJobFinished, v1.37.
func (l *look) enactFinished() bool {
	status := &l.job.Status
	if l.condition == nil || len(status.UncountedTerminatedPods.Succeeded)+len(status.UncountedTerminatedPods.Failed) > 0 || l.terminating > 0 {
		return false
	}
	l.ensureCondition(l.condition.Type, l.condition.Status, l.condition.Reason, l.condition.Message)
	if l.condition.Type == batchv1.JobComplete {
		status.CompletionTime = &l.condition.LastTransitionTime
	}
	return true
}

// recordFinished tells in events that the Job is finished.
// Upstream: job_controller.go recordJobFinished, v1.37.
func (l *look) recordFinished() {
	if l.condition.Type != batchv1.JobComplete {
		l.recorder.Event(l.job, v1.EventTypeWarning, l.condition.Reason, l.condition.Message)
		return
	}
	if l.job.Spec.Completions != nil && l.job.Status.Succeeded > *l.job.Spec.Completions {
		l.recorder.Event(l.job, v1.EventTypeWarning, "TooManySucceededPods", "Too many succeeded pods running after completion count reached")
	}
	l.recorder.Event(l.job, v1.EventTypeNormal, "Completed", "Job completed")
}

// writeStatus writes the status. The Job of this look is then the one that was stored.
func (l *look) writeStatus(ctx context.Context) error {
	stored, err := l.client.BatchV1().Jobs(l.job.Namespace).UpdateStatus(ctx, l.job, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	l.job = stored
	if l.job.Status.UncountedTerminatedPods == nil {
		l.job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	return nil
}
