package workloads

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
)

// checkDeploymentStatus validates a status update.
// Upstream: apps/validation ValidateDeploymentStatusUpdate, v1.37.
func checkDeploymentStatus(p *validation.Problems, d, old *appsv1.Deployment) {
	status := &d.Status
	p.NotNegative(status.ObservedGeneration, validation.StatusPath, "observedGeneration")
	for _, c := range []struct {
		name string
		n    int32
	}{
		{"replicas", status.Replicas}, {"updatedReplicas", status.UpdatedReplicas}, {"readyReplicas", status.ReadyReplicas},
		{"availableReplicas", status.AvailableReplicas}, {"unavailableReplicas", status.UnavailableReplicas},
		{"terminatingReplicas", counted(status.TerminatingReplicas)}, {"collisionCount", counted(status.CollisionCount)},
	} {
		p.NotNegative(int64(c.n), validation.StatusPath, c.name)
	}
	most := func(name string, n, most int32, of string) {
		if n > most {
			p.Invalid(validation.StatusPath.Child(name), n, "cannot be greater than "+of)
		}
	}
	most("updatedReplicas", status.UpdatedReplicas, status.Replicas, "status.replicas")
	most("readyReplicas", status.ReadyReplicas, status.Replicas, "status.replicas")
	most("availableReplicas", status.AvailableReplicas, status.Replicas, "status.replicas")
	most("availableReplicas", status.AvailableReplicas, status.ReadyReplicas, "readyReplicas")
	if is, was := counted(status.CollisionCount), old.Status.CollisionCount; was != nil && is < *was {
		p.Invalid(validation.StatusPath.Child("collisionCount"), is, "cannot be decremented")
	}
}

// counted returns a number, 0 if there is none.
func counted(n *int32) int32 {
	if n == nil {
		return 0
	}
	return *n
}

// checkJobStatus validates a status update: what has ended stays so, and what is counted stays counted.
// Upstream: batch/validation ValidateJobStatusUpdate, v1.37.
func checkJobStatus(p *validation.Problems, job, old *batchv1.Job) {
	status, was := &job.Status, &old.Status
	for _, c := range []struct {
		name string
		n    int32
	}{{"active", status.Active}, {"succeeded", status.Succeeded}, {"failed", status.Failed}} {
		p.NotNegative(int64(c.n), validation.StatusPath, c.name)
	}
	conditions := validation.StatusPath.Child("conditions")
	for _, end := range []batchv1.JobConditionType{batchv1.JobFailed, batchv1.JobComplete, batchv1.JobFailureTarget} {
		if jobIs(old, end) && !jobIs(job, end) {
			p.Invalid(conditions, field.OmitValueType{}, fmt.Sprintf("cannot disable the terminal %s=True condition", end))
		}
	}
	if status.Failed < was.Failed {
		p.Invalid(validation.StatusPath.Child("failed"), status.Failed, "cannot decrease the failed counter")
	}
	if status.Succeeded < was.Succeeded && !scalesDown(job) {
		p.Invalid(validation.StatusPath.Child("succeeded"), status.Succeeded, "cannot decrease the succeeded counter")
	}
	if jobIs(old, batchv1.JobSuccessCriteriaMet) && !jobIs(job, batchv1.JobSuccessCriteriaMet) {
		p.Invalid(conditions, field.OmitValueType{}, "cannot disable the SuccessCriteriaMet=True condition")
	}
	if jobIs(old, batchv1.JobComplete) && !jobIs(old, batchv1.JobSuccessCriteriaMet) && jobIs(job, batchv1.JobSuccessCriteriaMet) {
		p.Invalid(conditions, field.OmitValueType{}, "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions")
	}
}

// scalesDown reports whether the number of pods that have succeeded may fall: an indexed Job may get fewer completions.
// Upstream: registry/batch/job getStatusValidationOptions, v1.37.
func scalesDown(job *batchv1.Job) bool {
	mode, completions, parallelism := job.Spec.CompletionMode, job.Spec.Completions, job.Spec.Parallelism
	return mode != nil && *mode == batchv1.IndexedCompletion && completions != nil && parallelism != nil && *completions == *parallelism
}

// jobIs reports whether a condition of a Job is True.
func jobIs(job *batchv1.Job, condition batchv1.JobConditionType) bool {
	for _, c := range job.Status.Conditions {
		if c.Type == condition {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}
