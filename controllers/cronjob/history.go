package cronjob

import (
	"cmp"
	"context"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// finishedStatus returns the condition with which a Job has ended.
// Upstream: cronjob_controllerv2.go getFinishedStatus, v1.37.
func finishedStatus(job *batchv1.Job) (batchv1.JobConditionType, bool) {
	for _, c := range job.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == v1.ConditionTrue {
			return c.Type, true
		}
	}
	return "", false
}

// byStart orders Jobs by the time at which they started. Those that have not started come last.
// Upstream: cronjob/utils.go byJobStartTime, v1.37.
func byStart(a, b *batchv1.Job) int {
	switch at, bt := a.Status.StartTime, b.Status.StartTime; {
	case at == nil && bt != nil:
		return 1
	case at != nil && bt == nil:
		return -1
	case at.Equal(bt):
		return cmp.Compare(a.Name, b.Name)
	default:
		return at.Compare(bt.Time)
	}
}

// cleanupFinishedJobs deletes the oldest Jobs beyond the limits of the history, and reports whether the status has changed.
// Upstream: cronjob_controllerv2.go cleanupFinishedJobs, v1.37.
func (c *controller) cleanupFinishedJobs(ctx context.Context, cron *batchv1.CronJob, jobs []*batchv1.Job) (changed bool) {
	for _, limit := range []struct {
		n      *int32
		result batchv1.JobConditionType
	}{{cron.Spec.SuccessfulJobsHistoryLimit, batchv1.JobComplete}, {cron.Spec.FailedJobsHistoryLimit, batchv1.JobFailed}} {
		if limit.n == nil {
			continue
		}
		var ended []*batchv1.Job
		for _, job := range jobs {
			if result, finished := finishedStatus(job); finished && result == limit.result {
				ended = append(ended, job)
			}
		}
		for _, job := range ended[:max(len(ended)-int(*limit.n), 0)] {
			changed = c.deleteJob(ctx, cron, job) || changed
		}
	}
	return changed
}

// deleteJob deletes a Job with its pods, and reports whether it did.
// Upstream: cronjob_controllerv2.go deleteJob, v1.37.
func (c *controller) deleteJob(ctx context.Context, cron *batchv1.CronJob, job *batchv1.Job) bool {
	background := metav1.DeletePropagationBackground
	if err := c.client.BatchV1().Jobs(job.Namespace).Delete(ctx, job.Name, metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		c.recorder.Eventf(cron, v1.EventTypeWarning, "FailedDelete", "Deleted job: %v", err)
		return false
	}
	deleteFromActiveList(cron, job.UID)
	c.recorder.Eventf(cron, v1.EventTypeNormal, "SuccessfulDelete", "Deleted job %v", job.Name)
	return true
}
