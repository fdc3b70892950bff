package job

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/internal/podstatus"
	"github.com/storagesim/storagesim/internal/workload"
)

// evaluate notes whether the Job is at its end: because an earlier look said so, because a pod has failed as its policy names,
// because too many have failed, or because its time is up.
// Upstream: job_controller.go syncJob, v1.37.
func (l *look) evaluate() {
	if c := conditionOf(l.job, batchv1.JobSuccessCriteriaMet); c != nil && c.Status == v1.ConditionTrue {
		l.condition = c
		return
	}
	if c := conditionOf(l.job, batchv1.JobFailureTarget); c != nil && c.Status == v1.ConditionTrue {
		l.condition = l.newCondition(batchv1.JobFailed, v1.ConditionTrue, c.Reason, c.Message)
		return
	}
	deadline, message := l.job.Spec.ActiveDeadlineSeconds, l.failJobMessage()
	switch {
	case message != "":
		l.condition = l.newCondition(batchv1.JobFailureTarget, v1.ConditionTrue, batchv1.JobReasonPodFailurePolicy, message)
	case l.failed > *l.job.Spec.BackoffLimit || l.pastBackoffLimitOnFailure():
		l.condition = l.newCondition(batchv1.JobFailureTarget, v1.ConditionTrue, batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit")
	case deadline == nil || l.job.Status.StartTime == nil || isSuspended(l.job):
	case l.untilDeadline(l.job) <= 0:
		l.condition = l.newCondition(batchv1.JobFailureTarget, v1.ConditionTrue, batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline")
	default:
		workload.Later(l.env, l.queue, l.key, l.untilDeadline(l.job))
	}
	if l.condition == nil && isIndexed(l.job) {
		l.evaluateIndexes()
	}
}

// evaluateIndexes notes whether the Job is at its end because too many of its indexes have failed, because all others have succeeded, or because its
// success policy says so.
// Upstream: job_controller.go syncJob, v1.37.2.
func (l *look) evaluateIndexes() {
	failed, most := l.failedIndexes.total(), l.job.Spec.MaxFailedIndexes
	switch met := l.successPolicyMet(); {
	case hasLimitPerIndex(l.job) && most != nil && failed > int(*most):
		l.condition = l.newCondition(batchv1.JobFailureTarget, v1.ConditionTrue, batchv1.JobReasonMaxFailedIndexesExceeded,
			"Job has exceeded the specified maximal number of failed indexes")
	case failed > 0 && failed+l.indexes.total() >= completions(l.job):
		l.condition = l.newCondition(batchv1.JobFailureTarget, v1.ConditionTrue, batchv1.JobReasonFailedIndexes, "Job has failed indexes")
	case met != "":
		l.condition = l.newCondition(batchv1.JobSuccessCriteriaMet, v1.ConditionTrue, batchv1.JobReasonSuccessPolicy, met)
	}
}

// untilDeadline returns how long a Job that has started may still be active.
// Upstream: job_controller.go pastActiveDeadline, v1.37.
func (c *controller) untilDeadline(job *batchv1.Job) time.Duration {
	return time.Duration(*job.Spec.ActiveDeadlineSeconds)*time.Second - c.env.Now().Sub(job.Status.StartTime.Time)
}

// pastBackoffLimitOnFailure reports whether containers that are started again in their pods have been started too often.
// Upstream: job_controller.go pastBackoffLimitOnFailure, v1.37.
func (l *look) pastBackoffLimitOnFailure() bool {
	if l.job.Spec.Template.Spec.RestartPolicy != v1.RestartPolicyOnFailure {
		return false
	}
	restarts := int32(0)
	for _, pod := range l.pods {
		if pod.Status.Phase != v1.PodRunning && pod.Status.Phase != v1.PodPending {
			continue
		}
		for _, list := range [][]v1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
			for i := range list {
				restarts += list[i].RestartCount
			}
		}
	}
	return restarts >= max(*l.job.Spec.BackoffLimit, 1)
}

// end deletes the active pods of a Job that is at its end. While there are some that could not be deleted, or that the cache does not show, the end is put off.
// Upstream: job_controller.go syncJob, deleteActivePods, v1.37.
func (l *look) end(ctx context.Context, satisfied bool) error {
	var first error
	for _, pod := range l.active {
		if podstatus.IsReady(pod) {
			l.ready--
		}
		if err := l.control.Delete(ctx, l.job, pod); err != nil && !apierrors.IsNotFound(err) {
			if first == nil {
				first = err
			}
			continue
		}
		l.activeCount--
		l.terminating++
	}
	if l.activeCount > 0 || !satisfied {
		l.condition = nil
	}
	return first
}

// isComplete reports whether enough pods have succeeded and none is active.
func (l *look) isComplete() bool {
	if l.job.Spec.Completions == nil {
		return l.succeeded > 0 && l.activeCount == 0
	}
	return l.succeeded >= *l.job.Spec.Completions && l.activeCount == 0
}

// tellSuspended says in the condition Suspended, and in an event, that the Job was suspended or goes on, and reports whether that
// is new. Its time begins anew when it goes on.
// Upstream: job_controller.go syncJob, v1.37.
func (l *look) tellSuspended() bool {
	if isSuspended(l.job) {
		if !l.ensureCondition(batchv1.JobSuspended, v1.ConditionTrue, "JobSuspended", "Job suspended") {
			return false
		}
		l.recorder.Event(l.job, v1.EventTypeNormal, "Suspended", "Job suspended")
		l.job.Status.StartTime = nil
		return true
	}
	if !l.ensureCondition(batchv1.JobSuspended, v1.ConditionFalse, "JobResumed", "Job resumed") {
		return false
	}
	l.recorder.Event(l.job, v1.EventTypeNormal, "Resumed", "Job resumed")
	l.job.Status.StartTime = new(metav1.NewTime(l.env.Now()))
	return true
}

// isFinished reports whether the Job is Complete or Failed.
// Upstream: pkg/controller/job/util IsJobFinished, v1.37.
func isFinished(job *batchv1.Job) bool {
	_, finished := finishTime(job)
	return finished
}

// finishTime returns since when the Job has been Complete or Failed, if it is.
// Upstream: ttlafterfinished_controller.go jobFinishTime, v1.37.
func finishTime(job *batchv1.Job) (at time.Time, finished bool) {
	if job == nil {
		return time.Time{}, false
	}
	for _, kind := range []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed} {
		if c := conditionOf(job, kind); c != nil && c.Status == v1.ConditionTrue {
			return c.LastTransitionTime.Time, true
		}
	}
	return time.Time{}, false
}

// conditionOf returns a condition of the Job, nil if it has none.
func conditionOf(job *batchv1.Job, kind batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range job.Status.Conditions {
		if job.Status.Conditions[i].Type == kind {
			return &job.Status.Conditions[i]
		}
	}
	return nil
}

func (l *look) newCondition(kind batchv1.JobConditionType, is v1.ConditionStatus, reason, msg string) *batchv1.JobCondition {
	now := metav1.NewTime(l.env.Now())
	return &batchv1.JobCondition{Type: kind, Status: is, LastProbeTime: now, LastTransitionTime: now, Reason: reason, Message: msg}
}

// ensureCondition sets a condition, and reports whether that changed something. One that there is not need not become False.
// Upstream: job_controller.go ensureJobConditionStatus, v1.37.
func (l *look) ensureCondition(kind batchv1.JobConditionType, is v1.ConditionStatus, reason, msg string) bool {
	c := conditionOf(l.job, kind)
	switch {
	case c == nil && is == v1.ConditionFalse, c != nil && c.Status == is && c.Reason == reason && c.Message == msg:
		return false
	case c == nil:
		l.job.Status.Conditions = append(l.job.Status.Conditions, *l.newCondition(kind, is, reason, msg))
	default:
		*c = *l.newCondition(kind, is, reason, msg)
	}
	return true
}
