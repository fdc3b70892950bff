package job

import (
	"context"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/podstatus"
	"github.com/storagesim/storagesim/internal/semantic"
	"github.com/storagesim/storagesim/internal/workload"
)

// ActorName is the name of this controller in upstream's controller manager, and the source of its events.
const ActorName = "job-controller"

// kind is the kind of the pods' owners.
const kind = "Job"

// syncBatchPeriod is the time for which changes of pods are gathered before a Job is looked at.
// Upstream: job_controller.go SyncJobBatchPeriod, v1.37.
const syncBatchPeriod = time.Second

// New returns the factory of the controller.
// Upstream: job_controller.go NewController, v1.37.
func New() control.Factory {
	return func(env control.Env) error {
		control.WithFirst(env, jobs(), func(jobs *control.Cache[*batchv1.Job]) control.Handler[*batchv1.Job] {
			recorder := env.Recorder(ActorName)
			c := &controller{
				env: env, client: env.Client(), recorder: recorder, jobs: jobs, pods: control.NewCache[*v1.Pod](env, control.Pods()),
				expectations: workload.NewExpectations(env.Now), control: workload.Pods{Env: env, Recorder: recorder},
				removals: map[string]map[types.UID]bool{}, backoffs: map[string]backoff{}, finished: map[types.UID]bool{},
			}
			c.pods.AddIndex(workload.ByOwner, workload.OwnerKeys)
			c.queue = env.Queue(control.QueueConfig{
				Name: "job", About: control.KeysOf(kind), Reconcile: c.sync, Limiter: apiBackoff(),
			})
			c.orphans = env.Queue(control.QueueConfig{
				Name: "job_orphan_pod", About: control.KeysOf("Pod"), Reconcile: c.syncOrphanPod, Limiter: apiBackoff(),
			})
			c.pods.Handle(control.Handler[*v1.Pod]{Add: c.addPod, Update: c.updatePod, Delete: func(pod *v1.Pod) { c.deletePod(pod, true) }})
			return control.Handler[*batchv1.Job]{Add: func(job *batchv1.Job) { c.queue.Add(control.Key(job)) }, Update: c.updateJob, Delete: c.deleteJob}
		})
		return nil
	}
}

// apiBackoff returns the waits after errors.
// Upstream: job_controller.go DefaultJobApiBackOff, MaxJobApiBackOff, v1.37.
func apiBackoff() control.RateLimiter {
	return control.RateLimiter{Base: time.Second, Max: time.Minute, QPS: -1}
}

func controllerKind() schema.GroupVersionKind { return batchv1.SchemeGroupVersion.WithKind(kind) }

func jobs() schema.GroupVersionResource { return batchv1.SchemeGroupVersion.WithResource("jobs") }

type controller struct {
	env            control.Env
	client         kubernetes.Interface
	recorder       control.Recorder
	jobs           *control.Cache[*batchv1.Job]
	pods           *control.Cache[*v1.Pod]
	queue, orphans control.Queue
	expectations   *workload.Expectations
	control        workload.Pods
	// removals holds, by the Job's key, the pods whose finalizer was removed and whose cached version still has it.
	removals map[string]map[types.UID]bool
	// backoffs holds the failures of Jobs by their keys.
	backoffs map[string]backoff
	// finished holds the Jobs that were written as finished and that the cache does not show so yet.
	finished map[types.UID]bool
}

func (c *controller) enqueueBatched(key string) { c.queue.AddAfter(key, syncBatchPeriod) }

// addPod queues the owner of a new pod, or those that might adopt it.
// Upstream: job_controller.go addPod, v1.37.
func (c *controller) addPod(pod *v1.Pod) {
	if pod.DeletionTimestamp != nil { // of a controller that has just started
		c.deletePod(pod, false)
		return
	}
	if metav1.GetControllerOfNoCopy(pod) != nil {
		if key, owned := workload.KeyOfOwner(c.jobs, kind, pod); owned {
			c.expectations.CreationObserved(key, 1)
			c.enqueueBatched(key)
		}
		return
	}
	c.enqueueOrphan(pod)
	c.enqueueSelecting(pod)
}

// updatePod queues the owner of a pod, the one that it had and those that might adopt it.
// Upstream: job_controller.go updatePod, v1.37.
func (c *controller) updatePod(old, pod *v1.Pod) {
	if pod.DeletionTimestamp != nil {
		c.deletePod(pod, false)
		return
	}
	moved := workload.Moved(old, pod)
	if key, owned := workload.KeyOfOwner(c.jobs, kind, old); moved && owned {
		c.observeRemoval(key, pod)
		c.enqueueBatched(key)
	}
	if metav1.GetControllerOfNoCopy(pod) != nil {
		if key, owned := workload.KeyOfOwner(c.jobs, kind, pod); owned {
			c.observeRemoval(key, pod)
			c.enqueueBatched(key)
		}
		return
	}
	c.enqueueOrphan(pod)
	if moved || !labels.Equals(old.Labels, pod.Labels) {
		c.enqueueSelecting(pod)
	}
}

// deletePod queues the owner of a pod that is gone, which gone says, or being deleted.
// Upstream: job_controller.go deletePod, v1.37.
func (c *controller) deletePod(pod *v1.Pod, gone bool) {
	key, owned := workload.KeyOfOwner(c.jobs, kind, pod)
	job, _ := c.jobs.Get(key)
	if !owned || isFinished(job) {
		c.enqueueOrphan(pod)
		return
	}
	c.expectations.DeletionObserved(key, pod.UID)
	if gone {
		delete(c.removals[key], pod.UID)
	} else {
		c.observeRemoval(key, pod)
	}
	c.enqueueBatched(key)
}

// observeRemoval notes that the cache shows the pod without its finalizer, if it does.
func (c *controller) observeRemoval(key string, pod *v1.Pod) {
	if !isTracked(pod) {
		delete(c.removals[key], pod.UID)
	}
}

func (c *controller) enqueueSelecting(pod *v1.Pod) {
	for _, key := range workload.Selecting(c.jobs, pod, func(job *batchv1.Job) *metav1.LabelSelector { return job.Spec.Selector }) {
		c.enqueueBatched(key)
	}
}

// updateJob queues a Job at once if its spec has changed, and otherwise with the next changes of its pods. Of one that has
// finished it looks after pods that it left behind.
// Upstream: job_controller.go updateJob, v1.37.
func (c *controller) updateJob(old, job *batchv1.Job) {
	key := control.Key(job)
	switch {
	case isFinished(job):
		c.enqueueOrphansOf(job)
		return
	case job.Generation == old.Generation:
		c.enqueueBatched(key)
	default:
		c.queue.Add(key)
	}
	if d := job.Spec.ActiveDeadlineSeconds; job.Status.StartTime != nil && d != nil && !semantic.Equal(d, old.Spec.ActiveDeadlineSeconds) {
		workload.Later(c.env, c.queue, key, max(c.untilDeadline(job), 0))
	}
}

// deleteJob forgets a Job that is gone and looks after the pods that it left behind.
// Upstream: job_controller.go deleteJob, v1.37.
func (c *controller) deleteJob(job *batchv1.Job) {
	c.queue.Add(control.Key(job))
	delete(c.finished, job.UID)
	c.enqueueOrphansOf(job)
	c.expectations.Forget(control.Key(job))
	delete(c.backoffs, control.Key(job))
}

// look is one look at a Job: a copy of it, which the steps change as they write it, and its pods.
type look struct {
	*controller
	key string
	job *batchv1.Job
	// pods holds all its pods, active those that have neither ended nor are being deleted.
	pods, active []*v1.Pod
	// activeCount, ready and terminating count pods as they are after what was done in this look.
	activeCount, ready, terminating int32
	// succeeded and failed count the pods that have ended, also those that the status does not count yet.
	succeeded, failed int32
	// wasUncounted has the UIDs of status.uncountedTerminatedPods as this look began.
	wasUncounted struct{ succeeded, failed map[types.UID]bool }
	// removing has the pods whose finalizer was removed and whose cached version still has it.
	removing map[types.UID]bool
	backoff  backoff
	// condition says that the Job is at its end; nil if it is not.
	condition *batchv1.JobCondition
	// indexes has those that have succeeded, before the ones that have just ended and with them. Both are empty in a Job that is not Indexed.
	before, indexes intervals
	// failedIndexes has those that are not tried any more, and delayed the last failed pod of each that is to be tried again: its
	// finalizer stays until the next pod has its count. Both are empty in a Job without backoffLimitPerIndex.
	failedIndexes intervals
	delayed       map[int]*v1.Pod
}

// sync counts the pods of one Job, creates or deletes pods, and writes the status.
// Upstream: job_controller.go syncJob, v1.37.
func (c *controller) sync(ctx context.Context, key string) error {
	cached, found := c.jobs.Get(key)
	switch {
	case !found:
		c.expectations.Forget(key)
		delete(c.removals, key)
		delete(c.backoffs, key)
		return nil
	case isManagedElsewhere(cached):
		return nil
	case isFinished(cached):
		delete(c.backoffs, key)
		delete(c.finished, cached.UID)
		return nil
	case c.finished[cached.UID]:
		return nil // the cache does not show it yet
	}
	satisfied := c.expectations.Satisfied(key)
	l, err := c.newLook(ctx, key, cached)
	if err != nil {
		return err
	}
	if l.job.Status.StartTime == nil && !isSuspended(l.job) {
		l.job.Status.StartTime = new(metav1.NewTime(c.env.Now()))
	}
	l.evaluate()
	var manageErr error
	changed := false
	if l.condition != nil {
		manageErr = l.end(ctx, satisfied)
	} else {
		managed := satisfied && l.job.DeletionTimestamp == nil
		if managed {
			manageErr = l.manage(ctx)
		}
		if l.isComplete() {
			l.condition = l.newCondition(batchv1.JobSuccessCriteriaMet, v1.ConditionTrue, batchv1.JobReasonCompletionsReached,
				"Reached expected number of succeeded pods")
		} else if managed {
			changed = l.tellSuspended()
		}
	}
	status := &l.job.Status
	changed = changed || l.activeCount != status.Active || status.Ready == nil || *status.Ready != l.ready || status.Terminating == nil ||
		*status.Terminating != l.terminating
	status.Active, status.Ready, status.Terminating = l.activeCount, &l.ready, &l.terminating
	if err := l.track(ctx, changed); err != nil {
		return fmt.Errorf("tracking status: %w", err)
	}
	return manageErr
}

// newLook reads the pods of a Job and counts them.
func (c *controller) newLook(ctx context.Context, key string, cached *batchv1.Job) (*look, error) {
	l := &look{controller: c, key: key, job: cached.DeepCopy(), removing: map[types.UID]bool{}}
	selector, err := metav1.LabelSelectorAsSelector(cached.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("couldn't convert Job selector: %w", err)
	}
	l.pods, err = workload.Claim(ctx, workload.Owner{
		Env: c.env, Object: cached, Kind: controllerKind(), Selector: selector, Resource: control.Pods(), What: "Pod",
		Finalizers: []string{batchv1.JobTrackingFinalizer},
		Fresh: func(ctx context.Context) (control.Object, error) {
			return c.client.BatchV1().Jobs(cached.Namespace).Get(ctx, cached.Name, metav1.GetOptions{})
		},
	}, c.pods)
	if err != nil {
		return nil, err
	}
	for uid := range c.removals[key] {
		l.removing[uid] = true
	}
	if l.job.Status.UncountedTerminatedPods == nil {
		l.job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	uncounted := l.job.Status.UncountedTerminatedPods
	l.wasUncounted.succeeded, l.wasUncounted.failed = setOf(uncounted.Succeeded), setOf(uncounted.Failed)
	for _, pod := range l.pods {
		switch {
		case workload.IsActive(pod):
			l.active = append(l.active, pod)
			if podstatus.IsReady(pod) {
				l.ready++
			}
		case workload.IsTerminating(pod):
			l.terminating++
		}
	}
	l.activeCount = int32(len(l.active))
	succeeded := l.newlyEnded(l.wasUncounted.succeeded, func(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodSucceeded })
	failed := l.newlyEnded(l.wasUncounted.failed, l.hasFailed)
	l.succeeded = l.job.Status.Succeeded + int32(len(succeeded)+len(uncounted.Succeeded))
	l.failed = l.job.Status.Failed + int32(len(uncounted.Failed))
	for _, pod := range failed {
		if l.counts(pod) {
			l.failed++
		}
	}
	if isIndexed(l.job) {
		l.before = parseIndexes(l.job.Status.CompletedIndexes, completions(l.job))
		l.indexes = l.before.with(l.succeededIndexes())
		l.succeeded = int32(l.indexes.total())
		l.countIndexes()
	}
	l.backoff = c.backoffs[key].after(succeeded, failed)
	return l, nil
}

// newlyEnded returns the pods that no status counts yet and for which has holds.
// Upstream: job_controller.go getValidPodsWithFilter, v1.37.
func (l *look) newlyEnded(uncounted map[types.UID]bool, has func(*v1.Pod) bool) (pods []*v1.Pod) {
	for _, pod := range l.pods {
		if isTracked(pod) && !uncounted[pod.UID] && !l.removing[pod.UID] && (!isIndexed(l.job) || l.isIndex(indexOf(pod))) && has(pod) {
			pods = append(pods, pod)
		}
	}
	return pods
}

func setOf(uids []types.UID) map[types.UID]bool {
	set := map[types.UID]bool{}
	for _, uid := range uids {
		set[uid] = true
	}
	return set
}

// isTracked reports whether the pod has the finalizer with which it waits to be counted.
// Upstream: tracking_utils.go hasJobTrackingFinalizer, v1.37.
func isTracked(pod *v1.Pod) bool {
	return slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer)
}

// isManagedElsewhere reports whether spec.managedBy gives the Job to another controller.
// Upstream: job_controller.go managedByExternalController, v1.37.
func isManagedElsewhere(job *batchv1.Job) bool {
	return job.Spec.ManagedBy != nil && *job.Spec.ManagedBy != batchv1.JobControllerName
}

func isSuspended(job *batchv1.Job) bool { return job.Spec.Suspend != nil && *job.Spec.Suspend }

// hasFailed reports whether the pod counts as failed: it has, or it is being deleted and is replaced at once.
// Upstream: job_controller.go isPodFailed, v1.37.
func (l *look) hasFailed(pod *v1.Pod) bool {
	if pod.Status.Phase == v1.PodFailed {
		return true
	}
	return !onlyReplacesFailed(l.job) && pod.DeletionTimestamp != nil && pod.Status.Phase != v1.PodSucceeded
}

// onlyReplacesFailed reports whether a pod that is being deleted is replaced only when it has ended.
// Upstream: job_controller.go onlyReplaceFailedPods, v1.37.
func onlyReplacesFailed(job *batchv1.Job) bool {
	return job.Spec.PodReplacementPolicy != nil && *job.Spec.PodReplacementPolicy == batchv1.Failed
}
