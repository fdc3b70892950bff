package workloads

import (
	"encoding/json"

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
	checkMost(p, "updatedReplicas", status.UpdatedReplicas, status.Replicas, "status.replicas")
	checkMost(p, "readyReplicas", status.ReadyReplicas, status.Replicas, "status.replicas")
	checkMost(p, "availableReplicas", status.AvailableReplicas, status.Replicas, "status.replicas")
	checkMost(p, "availableReplicas", status.AvailableReplicas, status.ReadyReplicas, "readyReplicas")
	checkCollisions(p, status.CollisionCount, old.Status.CollisionCount)
}

// checkReplicaSetStatus validates a status update.
// Upstream: apps/validation ValidateReplicaSetStatus, v1.37.2.
func checkReplicaSetStatus(p *validation.Problems, status *appsv1.ReplicaSetStatus) {
	for _, c := range []struct {
		name string
		n    int64
	}{
		{"replicas", int64(status.Replicas)}, {"fullyLabeledReplicas", int64(status.FullyLabeledReplicas)}, {"readyReplicas", int64(status.ReadyReplicas)},
		{"availableReplicas", int64(status.AvailableReplicas)}, {"observedGeneration", status.ObservedGeneration},
		{"terminatingReplicas", int64(counted(status.TerminatingReplicas))},
	} {
		p.NotNegative(c.n, validation.StatusPath, c.name)
	}
	checkMost(p, "fullyLabeledReplicas", status.FullyLabeledReplicas, status.Replicas, "status.replicas")
	checkMost(p, "readyReplicas", status.ReadyReplicas, status.Replicas, "status.replicas")
	checkMost(p, "availableReplicas", status.AvailableReplicas, status.Replicas, "status.replicas")
	checkMost(p, "availableReplicas", status.AvailableReplicas, status.ReadyReplicas, "readyReplicas")
}

// checkDaemonSetStatus validates a status update.
// Upstream: apps/validation ValidateDaemonSetStatusUpdate, v1.37.2.
func checkDaemonSetStatus(p *validation.Problems, set, old *appsv1.DaemonSet) {
	status := &set.Status
	for _, c := range []struct {
		name string
		n    int64
	}{
		{"currentNumberScheduled", int64(status.CurrentNumberScheduled)}, {"numberMisscheduled", int64(status.NumberMisscheduled)},
		{"desiredNumberScheduled", int64(status.DesiredNumberScheduled)}, {"numberReady", int64(status.NumberReady)},
		{"observedGeneration", status.ObservedGeneration}, {"updatedNumberScheduled", int64(status.UpdatedNumberScheduled)},
		{"numberAvailable", int64(status.NumberAvailable)}, {"numberUnavailable", int64(status.NumberUnavailable)},
		{"collisionCount", int64(counted(status.CollisionCount))},
	} {
		p.NotNegative(c.n, validation.StatusPath, c.name)
	}
	checkCollisions(p, status.CollisionCount, old.Status.CollisionCount)
}

// checkMost refuses a number of pods that is greater than that of which they are a part.
func checkMost(p *validation.Problems, name string, n, most int32, of string) {
	if n > most {
		p.Invalid(validation.StatusPath.Child(name), n, "cannot be greater than "+of)
	}
}

// checkCollisions refuses that collisions of hashes are forgotten.
func checkCollisions(p *validation.Problems, n, was *int32) {
	if was != nil && counted(n) < *was {
		p.Invalid(validation.StatusPath.Child("collisionCount"), counted(n), "cannot be decremented")
	}
}

// checkRevision validates a ControllerRevision.
// Upstream: apps/validation ValidateControllerRevisionCreate, v1.37.2.
func checkRevision(p *validation.Problems, revision *appsv1.ControllerRevision) {
	p.NotNegative(revision.Revision, nil, "revision")
	at, raw := field.NewPath("data"), revision.Data.Raw
	if raw == nil && revision.Data.Object != nil {
		return
	}
	var data any
	switch err := json.Unmarshal(raw, &data); {
	case raw == nil:
		p.Required(at, "data is mandatory")
	case err != nil:
		p.Invalid(at, "<value omitted>", "error parsing data: "+err.Error())
	case data == nil:
		p.Required(at, "data is mandatory")
	default:
		if _, ok := data.(map[string]any); !ok {
			p.Required(at, "data must be a valid JSON object")
		}
	}
}

// counted returns a number, 0 if there is none.
func counted(n *int32) int32 {
	if n == nil {
		return 0
	}
	return *n
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
