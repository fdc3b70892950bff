package cronjob

import (
	"context"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/workload"
)

// ActorName is the name of this controller in upstream's controller manager, and the source of its events.
const ActorName = "cronjob-controller"

// kind is the kind of the Jobs' owners.
const kind = "CronJob"

// New returns the factory of the controller.
// Upstream: cronjob_controllerv2.go NewControllerV2, v1.37.
func New() control.Factory {
	return func(env control.Env) error {
		control.WithFirst(env, batchv1.SchemeGroupVersion.WithResource("cronjobs"), func(crons *control.Cache[*batchv1.CronJob]) control.Handler[*batchv1.CronJob] {
			c := &controller{
				env: env, client: env.Client(), recorder: env.Recorder(ActorName), crons: crons, looks: map[string]time.Time{},
				jobs: control.NewCache[*batchv1.Job](env, batchv1.SchemeGroupVersion.WithResource("jobs")),
			}
			c.jobs.AddIndex(workload.ByOwner, workload.OwnerKeys)
			c.queue = env.Queue(control.QueueConfig{Name: "cronjob", About: control.KeysOf(kind), Reconcile: c.sync})
			c.jobs.Handle(control.Handler[*batchv1.Job]{Add: c.jobChanged, Update: c.updateJob, Delete: c.jobChanged})
			return control.Handler[*batchv1.CronJob]{Add: c.enqueue, Update: c.updateCronJob, Delete: c.enqueue}
		})
		return nil
	}
}

type controller struct {
	env      control.Env
	client   kubernetes.Interface
	recorder control.Recorder
	crons    *control.Cache[*batchv1.CronJob]
	jobs     *control.Cache[*batchv1.Job]
	queue    control.Queue
	// looks has the time of the next look at a CronJob that is scheduled, by its key.
	looks map[string]time.Time
}

func (c *controller) enqueue(cron *batchv1.CronJob) { c.queue.Add(control.Key(cron)) }

// enqueueAfter queues a CronJob once d has passed, unless it is queued earlier.
func (c *controller) enqueueAfter(key string, d time.Duration) {
	at := c.env.Now().Add(d)
	if due, scheduled := c.looks[key]; scheduled && !due.After(at) {
		return
	}
	c.looks[key] = at
	c.env.Go("look at "+key+" when it is due", func(ctx context.Context) {
		if c.env.Sleep(control.InBackground(ctx), d) == nil && c.looks[key].Equal(at) {
			delete(c.looks, key)
			c.queue.Add(key)
		}
	})
}

// jobChanged queues the owner of a Job.
// Upstream: cronjob_controllerv2.go addJob, deleteJob, v1.37.
func (c *controller) jobChanged(job *batchv1.Job) {
	if key, owned := workload.KeyOfOwner(c.crons, kind, job); owned {
		c.queue.Add(key)
	}
}

// updateJob queues the owner of a Job, and the one that it had.
// Upstream: cronjob_controllerv2.go updateJob, v1.37.
func (c *controller) updateJob(old, job *batchv1.Job) {
	if workload.Moved(old, job) {
		c.jobChanged(old)
	}
	c.jobChanged(job)
}

// updateCronJob queues a CronJob at once, or for its next time if that has changed.
// Upstream: cronjob_controllerv2.go updateCronJob, v1.37.
func (c *controller) updateCronJob(old, cron *batchv1.CronJob) {
	if old.Spec.Schedule == cron.Spec.Schedule && zoneOf(old) == zoneOf(cron) {
		c.enqueue(cron)
		return
	}
	schedule, err := c.scheduleOf(cron, nil)
	if err != nil {
		c.recorder.Eventf(cron, v1.EventTypeWarning, "UnParseableCronJobSchedule", "unparseable schedule for cronjob: %s", cron.Spec.Schedule)
		return
	}
	c.enqueueAfter(control.Key(cron), nextScheduleTimeDuration(cron, c.now(), schedule))
}

// now returns the time in UTC, in which schedules are that name no zone.
func (c *controller) now() time.Time { return c.env.Now().UTC() }

// sync brings one CronJob up to date and starts its next Job if that is due.
// Upstream: cronjob_controllerv2.go sync, v1.37.
func (c *controller) sync(ctx context.Context, key string) error {
	cached, found := c.crons.Get(key)
	if !found {
		delete(c.looks, key)
		return nil
	}
	cron := cached.DeepCopy()
	jobs := c.jobs.ByIndex(workload.ByOwner, string(cron.UID))
	slices.SortFunc(jobs, byStart)
	changed := c.cleanupFinishedJobs(ctx, cron, jobs)
	next, synced, syncErr := c.syncCronJob(ctx, cron, jobs)
	if changed || synced {
		if _, err := c.client.BatchV1().CronJobs(cron.Namespace).UpdateStatus(ctx, cron, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	if next != nil {
		c.enqueueAfter(key, *next)
		return nil
	}
	return syncErr
}

// syncCronJob compares the status with the Jobs, and starts the next one. It returns when to look again, nil for not before
// something changes, and whether the status has changed.
// Upstream: cronjob_controllerv2.go syncCronJob, v1.37.
func (c *controller) syncCronJob(ctx context.Context, cron *batchv1.CronJob, jobs []*batchv1.Job) (next *time.Duration, changed bool, err error) {
	children := map[types.UID]bool{}
	for _, job := range jobs {
		children[job.UID] = true
		seen, err := c.takeIn(ctx, cron, job)
		changed = changed || seen
		if err != nil {
			return nil, changed, err
		}
	}
	for _, ref := range slices.Clone(cron.Status.Active) {
		if children[ref.UID] {
			continue
		}
		switch _, err := c.client.BatchV1().Jobs(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{}); {
		case apierrors.IsNotFound(err):
			c.recorder.Eventf(cron, v1.EventTypeNormal, "MissingJob", "Active job went missing: %v", ref.Name)
			deleteFromActiveList(cron, ref.UID)
			changed = true
		case err != nil:
			return nil, changed, err
		}
	}
	if cron.DeletionTimestamp != nil {
		return nil, changed, nil
	}
	next, started, err := c.startNext(ctx, cron)
	return next, changed || started, err
}

// takeIn brings the status up to date with one Job, and reports whether it has changed.
func (c *controller) takeIn(ctx context.Context, cron *batchv1.CronJob, job *batchv1.Job) (changed bool, err error) {
	active := inActiveList(cron, job.UID)
	result, finished := finishedStatus(job)
	if !finished {
		if active {
			return false, nil
		}
		fresh, err := c.client.BatchV1().CronJobs(cron.Namespace).Get(ctx, cron.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		if inActiveList(fresh, job.UID) {
			*cron = *fresh
			return false, nil
		}
		c.recorder.Eventf(cron, v1.EventTypeWarning, "UnexpectedJob", "Saw a job that the controller did not create or forgot: %s", job.Name)
		return false, nil
	}
	if active {
		deleteFromActiveList(cron, job.UID)
		c.recorder.Eventf(cron, v1.EventTypeNormal, "SawCompletedJob", "Saw completed job: %s, condition: %v", job.Name, result)
		changed = true
	}
	if at, last := job.Status.CompletionTime, cron.Status.LastSuccessfulTime; result == batchv1.JobComplete && (last == nil || at != nil && at.After(last.Time)) {
		cron.Status.LastSuccessfulTime = at
		changed = true
	}
	return changed, nil
}

func inActiveList(cron *batchv1.CronJob, uid types.UID) bool {
	return slices.ContainsFunc(cron.Status.Active, func(ref v1.ObjectReference) bool { return ref.UID == uid })
}

func deleteFromActiveList(cron *batchv1.CronJob, uid types.UID) {
	cron.Status.Active = slices.DeleteFunc(cron.Status.Active, func(ref v1.ObjectReference) bool { return ref.UID == uid })
}

// errNotReplaced says that the Job of an earlier time could not be deleted.
func errNotReplaced(job *batchv1.Job) error {
	return fmt.Errorf("could not replace job %s/%s", job.Namespace, job.Name)
}
