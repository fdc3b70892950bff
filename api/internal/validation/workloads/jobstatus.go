package workloads

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
	"github.com/storagesim/storagesim/internal/semantic"
)

// checkJobStatus validates a status update: what has ended stays so, and what is counted stays counted. What may be wrong only since the
// spec changed is checked where the status changes.
// Upstream: batch/validation ValidateJobStatusUpdate and validateJobStatus, registry/batch/job getStatusValidationOptions, v1.37.2.
func checkJobStatus(p *validation.Problems, job, old *batchv1.Job) {
	s := &jobStatus{p, job, old, &job.Status, &old.Status}
	s.counters()
	s.conditions()
	s.times()
	s.finished()
	s.indexes()
	s.transitions()
}

// jobStatus is a status update of a Job.
type jobStatus struct {
	*validation.Problems
	job, old    *batchv1.Job
	status, was *batchv1.JobStatus
}

// is reports whether a condition is True; changed, whether that changes.
func (s *jobStatus) is(condition batchv1.JobConditionType) bool { return jobIs(s.job, condition) }

func (s *jobStatus) changed(condition batchv1.JobConditionType) bool {
	return jobIs(s.job, condition) != jobIs(s.old, condition)
}

// ended reports whether a Job has ended.
func ended(job *batchv1.Job) bool {
	return jobIs(job, batchv1.JobComplete) || jobIs(job, batchv1.JobFailed)
}

// impossible refuses the conditions.
func (s *jobStatus) impossible(detail string) {
	s.Invalid(validation.StatusPath.Child("conditions"), field.OmitValueType{}, detail)
}

func (s *jobStatus) counters() {
	for _, c := range []struct {
		name string
		n    int32
	}{
		{"active", s.status.Active}, {"succeeded", s.status.Succeeded}, {"failed", s.status.Failed},
		{"ready", counted(s.status.Ready)}, {"terminating", counted(s.status.Terminating)},
	} {
		s.NotNegative(int64(c.n), validation.StatusPath, c.name)
	}
	uncounted := s.status.UncountedTerminatedPods
	if uncounted == nil {
		return
	}
	seen := map[types.UID]bool{}
	for _, list := range []struct {
		name string
		uids []types.UID
	}{{"succeeded", uncounted.Succeeded}, {"failed", uncounted.Failed}} {
		for i, uid := range list.uids {
			at := validation.StatusPath.Child("uncountedTerminatedPods", list.name).Index(i)
			switch {
			case uid == "":
				s.Invalid(at, uid, "must not be empty")
			case seen[uid]:
				s.Duplicate(at, uid)
			}
			seen[uid] = true
		}
	}
}

func (s *jobStatus) conditions() {
	complete, failed := s.changed(batchv1.JobComplete), s.changed(batchv1.JobFailed)
	if s.is(batchv1.JobComplete) {
		if (complete || failed) && s.is(batchv1.JobFailed) {
			s.impossible("cannot set Complete=True and Failed=true conditions")
		}
		if (complete || s.changed(batchv1.JobFailureTarget)) && s.is(batchv1.JobFailureTarget) {
			s.impossible("cannot set Complete=True and FailureTarget=true conditions")
		}
	}
}

func (s *jobStatus) times() {
	at, complete := validation.StatusPath.Child("completionTime"), s.is(batchv1.JobComplete)
	begins, ends := !s.status.StartTime.Equal(s.was.StartTime), !s.status.CompletionTime.Equal(s.was.CompletionTime)
	if s.changed(batchv1.JobComplete) || ends {
		if s.status.CompletionTime != nil && !complete {
			s.Invalid(at, s.status.CompletionTime, "cannot set completionTime when there is no Complete=True condition")
		}
		if s.status.CompletionTime == nil && complete {
			s.Required(at, "completionTime is required for Complete jobs")
		}
	}
	if (begins || ends) && s.status.StartTime != nil && s.status.CompletionTime != nil && s.status.CompletionTime.Before(s.status.StartTime) {
		s.Invalid(at, s.status.CompletionTime, "must be equal to or after `startTime`")
	}
}

// finished checks what a Job that has ended may not have, and must have.
func (s *jobStatus) finished() {
	failedIndexes := !validation.SamePtr(s.status.FailedIndexes, s.was.FailedIndexes)
	if (s.changed(batchv1.JobFailed) || failedIndexes) && s.is(batchv1.JobFailed) && !s.is(batchv1.JobFailureTarget) {
		s.impossible("cannot set Failed=True condition without the FailureTarget=true condition")
	}
	if (s.changed(batchv1.JobComplete) || s.changed(batchv1.JobSuccessCriteriaMet)) && s.is(batchv1.JobComplete) && !s.is(batchv1.JobSuccessCriteriaMet) {
		s.impossible("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")
	}
	if !ended(s.job) {
		return
	}
	now := !ended(s.old)
	if (now || s.status.Active != s.was.Active) && s.status.Active > 0 {
		s.Invalid(validation.StatusPath.Child("active"), s.status.Active, "active>0 is invalid for finished job")
	}
	empty := s.job.Spec.Suspend != nil && *s.job.Spec.Suspend && s.job.Spec.Completions != nil && *s.job.Spec.Completions == 0
	if (now || !s.status.StartTime.Equal(s.was.StartTime)) && !empty && s.status.StartTime == nil {
		s.Required(validation.StatusPath.Child("startTime"), "startTime is required for finished job")
	}
	uncounted := s.status.UncountedTerminatedPods
	if (now || !semantic.Equal(uncounted, s.was.UncountedTerminatedPods)) &&
		uncounted != nil && len(uncounted.Failed)+len(uncounted.Succeeded) > 0 {
		s.Invalid(validation.StatusPath.Child("uncountedTerminatedPods"), uncounted, "must be empty for finished job")
	}
}

func (s *jobStatus) indexes() {
	spec, completed, failed := &s.job.Spec, s.status.CompletedIndexes, s.status.FailedIndexes
	completedPath, failedPath := validation.StatusPath.Child("completedIndexes"), validation.StatusPath.Child("failedIndexes")
	completedChanged, failedChanged := completed != s.was.CompletedIndexes, !validation.SamePtr(failed, s.was.FailedIndexes)
	if completedChanged && spec.Completions != nil {
		if _, err := countIndexes(completed, *spec.Completions); err != nil {
			s.Invalid(completedPath, completed, "error parsing completedIndexes: "+err.Error())
		}
	}
	if failedChanged && spec.Completions != nil && spec.BackoffLimitPerIndex != nil && failed != nil {
		if _, err := countIndexes(*failed, *spec.Completions); err != nil {
			s.Invalid(failedPath, *failed, "error parsing failedIndexes: "+err.Error())
		}
	}
	if completedChanged && completed != "" && (spec.CompletionMode == nil || *spec.CompletionMode != batchv1.IndexedCompletion) {
		s.Invalid(completedPath, completed, "cannot set non-empty completedIndexes when non-indexed completion mode")
	}
	if failedChanged && spec.BackoffLimitPerIndex == nil && failed != nil {
		s.Invalid(failedPath, *failed, "cannot set non-null failedIndexes when backoffLimitPerIndex is null")
	}
	if (failedChanged || completedChanged) && spec.Completions != nil && failed != nil {
		if at, both := overlap(completed, *failed, *spec.Completions); both {
			s.Invalid(failedPath, *failed, fmt.Sprintf("failedIndexes and completedIndexes overlap at index: %d", at))
		}
	}
}

// transitions checks the status against that before.
func (s *jobStatus) transitions() {
	if n := s.status.Terminating; (ended(s.job) != ended(s.old) || !validation.SamePtr(n, s.was.Terminating)) && ended(s.job) && counted(n) > 0 {
		s.Invalid(validation.StatusPath.Child("terminating"), *n, "terminating>0 is invalid for finished job")
	}
	if n := s.status.Ready; (s.status.Active != s.was.Active || !validation.SamePtr(n, s.was.Ready)) && n != nil && *n > s.status.Active {
		s.Invalid(validation.StatusPath.Child("ready"), *n, "cannot set more ready pods than active")
	}
	met := s.is(batchv1.JobSuccessCriteriaMet)
	if met && s.is(batchv1.JobFailed) {
		s.impossible("cannot set SuccessCriteriaMet=True and Failed=true conditions")
	}
	if met && s.is(batchv1.JobFailureTarget) {
		s.impossible("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
	}
	if s.job.Spec.SuccessPolicy != nil && !met && s.is(batchv1.JobComplete) {
		s.impossible("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True")
	}
	for _, end := range []batchv1.JobConditionType{batchv1.JobFailed, batchv1.JobComplete, batchv1.JobFailureTarget} {
		if jobIs(s.old, end) && !s.is(end) {
			s.impossible(fmt.Sprintf("cannot disable the terminal %s=True condition", end))
		}
	}
	if s.status.Failed < s.was.Failed {
		s.Invalid(validation.StatusPath.Child("failed"), s.status.Failed, "cannot decrease the failed counter")
	}
	if s.status.Succeeded < s.was.Succeeded && !scalesDown(s.job) {
		s.Invalid(validation.StatusPath.Child("succeeded"), s.status.Succeeded, "cannot decrease the succeeded counter")
	}
	if s.status.CompletionTime != nil && s.was.CompletionTime != nil && !s.status.CompletionTime.Equal(s.was.CompletionTime) {
		s.Invalid(validation.StatusPath.Child("completionTime"), s.status.CompletionTime, "field is immutable")
	}
	resumes := jobIs(s.old, batchv1.JobSuspended) && slices.ContainsFunc(s.status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobSuspended && c.Status == v1.ConditionFalse
	})
	if s.was.StartTime != nil && !s.was.StartTime.Equal(s.status.StartTime) && !resumes && (s.job.Spec.Suspend == nil || !*s.job.Spec.Suspend) {
		s.Invalid(validation.StatusPath.Child("startTime"), s.status.StartTime, "field is immutable for unsuspended job once set")
	}
	if jobIs(s.old, batchv1.JobSuccessCriteriaMet) && !met {
		s.impossible("cannot disable the SuccessCriteriaMet=True condition")
	}
	if jobIs(s.old, batchv1.JobComplete) && !jobIs(s.old, batchv1.JobSuccessCriteriaMet) && met {
		s.impossible("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions")
	}
}
