package tables

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAJobsStatusIsTheFirstThatItHas(t *testing.T) {
	now := metav1.NewTime(time.Unix(0, 0))
	for _, c := range []struct {
		deleted    *metav1.Time
		conditions []batchv1.JobConditionType
		status     string
	}{
		{nil, nil, "Running"},
		{&now, nil, "Terminating"},
		{nil, []batchv1.JobConditionType{"SuccessCriteriaMet"}, "Running"},
		{nil, []batchv1.JobConditionType{"SuccessCriteriaMet", "Complete"}, "Complete"},
		{&now, []batchv1.JobConditionType{"SuccessCriteriaMet", "Complete"}, "Complete"},
		{nil, []batchv1.JobConditionType{"FailureTarget"}, "FailureTarget"},
		{nil, []batchv1.JobConditionType{"FailureTarget", "Failed"}, "Failed"},
		{&now, []batchv1.JobConditionType{"Suspended"}, "Terminating"},
		{nil, []batchv1.JobConditionType{"Suspended"}, "Suspended"},
	} {
		job := &batchv1.Job{}
		job.DeletionTimestamp = c.deleted
		for _, condition := range c.conditions {
			job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: condition, Status: v1.ConditionTrue})
		}
		require.Equal(t, c.status, jobStatus(job), "%v", c)
	}
	suspended := &batchv1.Job{Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: "Suspended", Status: v1.ConditionFalse}}}}
	require.Equal(t, "Running", jobStatus(suspended), "it was resumed")
}

func TestAJobsCompletionsAreCountedAsKubectlDoes(t *testing.T) {
	number := func(n int32) *int32 { return &n }
	for _, c := range []struct {
		completions, parallelism *int32
		want                     string
	}{
		{number(3), number(2), "1/3"},
		{nil, number(2), "1/1 of 2"},
		{nil, number(1), "1/1"},
		{nil, nil, "1/1"},
	} {
		job := &batchv1.Job{Spec: batchv1.JobSpec{Completions: c.completions, Parallelism: c.parallelism}, Status: batchv1.JobStatus{Succeeded: 1}}
		require.Equal(t, c.want, completions(job))
	}
}
