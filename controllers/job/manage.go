package job

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/internal/podstatus"
	"github.com/storagesim/storagesim/internal/workload"
)

// maxPerSync is the number of pods that are created or deleted in one look.
// Upstream: job_controller.go MaxPodCreateDeletePerSync, v1.37.
const maxPerSync = 500

// manage deletes the pods that are too many, or else creates those that are missing, once the time to wait after failures is over. A suspended Job has no pods.
// Upstream: job_controller.go manageJob, v1.37.
func (l *look) manage(ctx context.Context) error {
	if isSuspended(l.job) {
		return l.delete(ctx, l.surplus(len(l.active)))
	}
	want := *l.job.Spec.Parallelism
	if n := l.job.Spec.Completions; n != nil {
		want = max(min(want, *n-l.succeeded), 0)
	} else if l.succeeded > 0 {
		want = l.activeCount // those that run may end, and none is added
	}
	if surplus := l.surplus(int(max(l.activeCount-want, 0))); len(surplus) > 0 {
		return l.delete(ctx, surplus[:min(len(surplus), maxPerSync)])
	}
	missing := want - l.activeCount
	if onlyReplacesFailed(l.job) {
		missing -= l.terminating
	}
	if missing <= 0 {
		return nil
	}
	if wait := l.backoff.remaining(l.env.Now()); wait > 0 && !hasLimitPerIndex(l.job) {
		l.later(max(wait, syncBatchPeriod))
		return nil
	}
	return l.create(ctx, int(min(missing, maxPerSync)))
}

// later queues the Job after a time. Settling does not wait for longer ones.
func (l *look) later(d time.Duration) {
	if d > time.Minute {
		workload.Later(l.env, l.queue, l.key, d)
		return
	}
	l.queue.AddAfter(l.key, d)
}

// surplus returns at least n active pods that should go: those with an index that the Job does not have or that another pod has,
// and then those that have come least far.
// Upstream: job_controller.go activePodsForRemoval, v1.37.
func (l *look) surplus(n int) (pods []*v1.Pod) {
	left := slices.Clone(l.active)
	slices.SortStableFunc(left, byProgress)
	if isIndexed(l.job) {
		seen := map[int]bool{}
		for i := len(left) - 1; i >= 0; i-- { // of each index the pod that has come farthest stays
			if index := indexOf(left[i]); !l.isIndex(index) || seen[index] {
				pods, left = append(pods, left[i]), slices.Delete(left, i, i+1)
			} else {
				seen[index] = true
			}
		}
	}
	return append(pods, left[:max(n-len(pods), 0)]...)
}

// byProgress orders active pods by how far they have come: those without a node first, then Pending ones, those that are not
// ready, the latest to be ready, those that restarted most, the youngest.
// Upstream: controller_utils.go ActivePods.Less, v1.37.
func byProgress(a, b *v1.Pod) int {
	rank := func(pod *v1.Pod) int {
		_, ready := podstatus.ReadySince(pod)
		switch {
		case pod.Spec.NodeName == "":
			return 0
		case pod.Status.Phase == v1.PodPending:
			return 1
		case pod.Status.Phase == v1.PodUnknown:
			return 2
		case !ready:
			return 3
		}
		return 4
	}
	readyA, isReadyA := podstatus.ReadySince(a)
	readyB, isReadyB := podstatus.ReadySince(b)
	if order := cmp.Compare(rank(a), rank(b)); order != 0 {
		return order
	}
	if isReadyA && isReadyB && !readyA.Equal(readyB) {
		return readyB.Compare(readyA)
	}
	return cmp.Or(cmp.Compare(restarts(b), restarts(a)), b.CreationTimestamp.Compare(a.CreationTimestamp.Time))
}

// restarts returns the largest number of restarts of a container.
func restarts(pod *v1.Pod) (n int32) {
	for i := range pod.Status.ContainerStatuses {
		n = max(n, pod.Status.ContainerStatuses[i].RestartCount)
	}
	return n
}

// delete deletes pods, which do not count as failed: their finalizers go first. One that is gone is no error.
// Upstream: job_controller.go deleteJobPods, v1.37.
func (l *look) delete(ctx context.Context, pods []*v1.Pod) (first error) {
	uids := make([]types.UID, len(pods))
	for i, pod := range pods {
		uids[i] = pod.UID
	}
	l.expectations.Expect(l.key, 0, uids...)
	for _, pod := range pods {
		err := l.removeFinalizer(ctx, pod)
		if err == nil {
			err = l.control.Delete(ctx, l.job, pod)
		}
		if err != nil {
			l.expectations.DeletionObserved(l.key, pod.UID)
			if !apierrors.IsNotFound(err) {
				first = cmp.Or(first, err)
				continue
			}
		}
		l.activeCount--
		l.terminating++
		if podstatus.IsReady(pod) {
			l.ready--
		}
	}
	return first
}

// create creates n pods. In a namespace that is being deleted it is no error that none can be created.
// Upstream: job_controller.go manageJob, v1.37.
func (l *look) create(ctx context.Context, n int) error {
	var indexes []int
	if isIndexed(l.job) {
		var wait time.Duration
		if indexes, wait = l.dueIndexes(l.pendingIndexes(n)); wait > 0 {
			l.later(max(wait, syncBatchPeriod))
			return nil
		}
		n = len(indexes)
	}
	l.expectations.Expect(l.key, n)
	made, err := workload.SlowStart(n, func(i int) error {
		pod := workload.PodFromTemplate(&l.job.Spec.Template, l.job, controllerKind())
		if !isTracked(pod) {
			pod.Finalizers = append(pod.Finalizers, batchv1.JobTrackingFinalizer)
		}
		if isIndexed(l.job) {
			setIndex(pod, l.job.Name, indexes[i])
			if hasLimitPerIndex(l.job) {
				l.setFailures(pod, l.delayed[indexes[i]])
			}
		}
		err := l.control.Create(ctx, l.job, pod)
		if apierrors.HasStatusCause(err, v1.NamespaceTerminatingCause) {
			return nil
		}
		return err
	})
	l.expectations.CreationObserved(l.key, n-made)
	l.activeCount += int32(made)
	if err != nil {
		return fmt.Errorf("creating pods: %w", err)
	}
	return nil
}
