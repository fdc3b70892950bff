package cronjob

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// startNext makes the Job of the most recent time that has none yet, as far as suspend, the deadline and the policy for several
// Jobs at once allow it. It returns when to look again.
// Upstream: cronjob_controllerv2.go syncCronJob, v1.37.
func (c *controller) startNext(ctx context.Context, cron *batchv1.CronJob) (next *time.Duration, changed bool, err error) {
	if zone := zoneOf(cron); zone != "" {
		if _, err := time.LoadLocation(zone); err != nil {
			c.recorder.Eventf(cron, v1.EventTypeWarning, "UnknownTimeZone", "invalid timeZone: %q: %s", zone, err)
			return nil, false, nil
		}
	}
	if cron.Spec.Suspend != nil && *cron.Spec.Suspend {
		return nil, false, nil
	}
	schedule, err := c.scheduleOf(cron, c.recorder)
	if err != nil {
		c.recorder.Eventf(cron, v1.EventTypeWarning, "UnparseableSchedule", "unparseable schedule: %q : %s", cron.Spec.Schedule, err)
		return nil, false, nil
	}
	now := c.now()
	_, at, missed, err := mostRecent(cron, now, schedule, true)
	if err != nil {
		c.recorder.Eventf(cron, v1.EventTypeWarning, "InvalidSchedule", "invalid schedule: %s : %s", cron.Spec.Schedule, err)
		return nil, false, nil
	}
	later := func() *time.Duration { return new(nextScheduleTimeDuration(cron, now, schedule)) }
	if at.IsZero() {
		return later(), false, nil
	}
	if missed > manyMissed {
		c.recorder.Event(cron, v1.EventTypeWarning, "TooManyMissedTimes",
			"too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew")
	}
	if d := cron.Spec.StartingDeadlineSeconds; d != nil && at.Add(time.Duration(*d)*time.Second).Before(now) {
		c.recorder.Eventf(cron, v1.EventTypeWarning, "MissSchedule", "Missed scheduled time to start a job: %s", at.UTC().Format(time.RFC1123Z))
		return later(), false, nil
	}
	name := jobName(cron, at)
	isNamed := func(ref v1.ObjectReference) bool { return ref.Name == name && ref.Namespace == cron.Namespace }
	if last := cron.Status.LastScheduleTime; slices.ContainsFunc(cron.Status.Active, isNamed) || last != nil && last.Time.Equal(at) {
		return later(), false, nil
	}
	if cron.Spec.ConcurrencyPolicy == batchv1.ForbidConcurrent && len(cron.Status.Active) > 0 {
		c.recorder.Event(cron, v1.EventTypeNormal, "JobAlreadyActive", "Not starting job because prior execution is running and concurrency policy is Forbid")
		return later(), false, nil
	}
	if cron.Spec.ConcurrencyPolicy == batchv1.ReplaceConcurrent {
		if changed, err = c.replaceActive(ctx, cron); err != nil {
			return nil, changed, err
		}
	}
	job, err := c.createJob(ctx, cron, at)
	if job == nil || err != nil {
		return nil, changed, err
	}
	cron.Status.Active = append(cron.Status.Active, v1.ObjectReference{
		Kind: "Job", APIVersion: batchv1.SchemeGroupVersion.String(), Namespace: job.Namespace, Name: job.Name, UID: job.UID, ResourceVersion: job.ResourceVersion,
	})
	cron.Status.LastScheduleTime = new(metav1.NewTime(at))
	return later(), true, nil
}

// replaceActive deletes the Jobs that run still.
func (c *controller) replaceActive(ctx context.Context, cron *batchv1.CronJob) (changed bool, err error) {
	for _, ref := range slices.Clone(cron.Status.Active) {
		job, err := c.client.BatchV1().Jobs(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			c.recorder.Eventf(cron, v1.EventTypeWarning, "FailedGet", "Get job: %v", err)
			return changed, err
		}
		if !c.deleteJob(ctx, cron, job) {
			return changed, errNotReplaced(job)
		}
		changed = true
	}
	return changed, nil
}

// createJob makes the Job of a time. If an earlier life of the controller has made it, that one is returned; nil if it is known or another's.
func (c *controller) createJob(ctx context.Context, cron *batchv1.CronJob, at time.Time) (*batchv1.Job, error) {
	jobs := c.client.BatchV1().Jobs(cron.Namespace)
	job, err := jobs.Create(ctx, jobFromTemplate(cron, at), metav1.CreateOptions{})
	switch {
	case err == nil:
		c.recorder.Eventf(cron, v1.EventTypeNormal, "SuccessfulCreate", "Created job %v", job.Name)
		return job, nil
	case apierrors.HasStatusCause(err, v1.NamespaceTerminatingCause):
		return nil, err
	case !apierrors.IsAlreadyExists(err):
		c.recorder.Eventf(cron, v1.EventTypeWarning, "FailedCreate", "Error creating job: %v", err)
		return nil, err
	}
	job, err = jobs.Get(ctx, jobName(cron, at), metav1.GetOptions{})
	if err != nil || !metav1.IsControlledBy(job, cron) || inActiveList(cron, job.UID) {
		return nil, err
	}
	return job, nil
}

// jobName returns the name of the Job of a time: no Job is made twice.
// Upstream: cronjob_controllerv2.go getJobName, v1.37.
func jobName(cron *batchv1.CronJob, at time.Time) string {
	return fmt.Sprintf("%s-%d", cron.Name, at.Unix()/60)
}

// jobFromTemplate returns the Job of a time.
// Upstream: cronjob/utils.go getJobFromTemplate2, v1.37.
func jobFromTemplate(cron *batchv1.CronJob, at time.Time) *batchv1.Job {
	template := cron.Spec.JobTemplate.DeepCopy()
	annotations := maps.Clone(template.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	zone, err := time.LoadLocation(zoneOf(cron))
	if err != nil {
		zone = time.UTC // it was read before
	}
	annotations[batchv1.CronJobScheduledTimestampAnnotation] = at.In(zone).Format(time.RFC3339)
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cron.Namespace, Name: jobName(cron, at), Labels: template.Labels, Annotations: annotations, CreationTimestamp: metav1.NewTime(at),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cron, batchv1.SchemeGroupVersion.WithKind(kind))},
		},
		Spec: template.Spec,
	}
}
