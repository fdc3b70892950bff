package validation_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/api/internal/apitest"
	"github.com/storagesim/storagesim/api/internal/validation"
	"github.com/storagesim/storagesim/api/internal/validation/cluster"
	"github.com/storagesim/storagesim/api/internal/validation/workloads"
)

func TestAStatusIsCheckedWhenItIsUpdated(t *testing.T) {
	count := func(n int32) *int32 { return &n }
	meta := metav1.ObjectMeta{Name: "a", Namespace: "default", ResourceVersion: "1"}
	deployment := func(status appsv1.DeploymentStatus) runtime.Object {
		return &appsv1.Deployment{ObjectMeta: meta, Status: status}
	}
	namespace := func(phase v1.NamespacePhase, deleting *metav1.Time) runtime.Object {
		return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "1", DeletionTimestamp: deleting}, Status: v1.NamespaceStatus{Phase: phase}}
	}
	job := func(status batchv1.JobStatus) runtime.Object { return &batchv1.Job{ObjectMeta: meta, Status: status} }
	is := func(conditions ...batchv1.JobConditionType) (status batchv1.JobStatus) {
		for _, c := range conditions {
			status.Conditions = append(status.Conditions, batchv1.JobCondition{Type: c, Status: v1.ConditionTrue})
		}
		return status
	}
	scaled := &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{CompletionMode: new(batchv1.IndexedCompletion), Completions: count(1), Parallelism: count(1)},
		Status: batchv1.JobStatus{Succeeded: 1}}
	for _, row := range []struct {
		name     string
		kind     validation.Kind
		obj, old runtime.Object
		want     []string
	}{
		{"good counts", workloads.Deployments(), deployment(appsv1.DeploymentStatus{Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: 2, AvailableReplicas: 1}),
			deployment(appsv1.DeploymentStatus{}), nil},
		{"negative counts", workloads.Deployments(),
			deployment(appsv1.DeploymentStatus{ObservedGeneration: -1, UnavailableReplicas: -1, TerminatingReplicas: count(-1)}),
			deployment(appsv1.DeploymentStatus{}), []string{
				"status.observedGeneration: Invalid value: -1: must be greater than or equal to 0",
				"status.unavailableReplicas: Invalid value: -1: must be greater than or equal to 0",
				"status.terminatingReplicas: Invalid value: -1: must be greater than or equal to 0",
			}},
		{"more than all", workloads.Deployments(), deployment(appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 2, ReadyReplicas: 1, AvailableReplicas: 2}),
			deployment(appsv1.DeploymentStatus{}), []string{
				"status.updatedReplicas: Invalid value: 2: cannot be greater than status.replicas",
				"status.availableReplicas: Invalid value: 2: cannot be greater than status.replicas",
				"status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas",
			}},
		{"more ready than all", workloads.Deployments(), deployment(appsv1.DeploymentStatus{ReadyReplicas: 1}), deployment(appsv1.DeploymentStatus{}),
			[]string{"status.readyReplicas: Invalid value: 1: cannot be greater than status.replicas"}},
		{"fewer collisions", workloads.Deployments(), deployment(appsv1.DeploymentStatus{}), deployment(appsv1.DeploymentStatus{CollisionCount: count(1)}),
			[]string{"status.collisionCount: Invalid value: 0: cannot be decremented"}},
		{"an active namespace", cluster.Namespaces(), namespace(v1.NamespaceActive, nil), namespace(v1.NamespaceActive, nil), nil},
		{"a namespace that is not deleted", cluster.Namespaces(), namespace(v1.NamespaceTerminating, nil), namespace(v1.NamespaceActive, nil),
			[]string{"status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty"}},
		{"a namespace that is deleted", cluster.Namespaces(), namespace(v1.NamespaceActive, &metav1.Time{}), namespace(v1.NamespaceTerminating, &metav1.Time{}),
			[]string{"status.Phase: Invalid value: \"Active\": may only be 'Terminating' if `deletionTimestamp` is not empty"}},
		{"a Job goes on", workloads.Jobs(), job(batchv1.JobStatus{Failed: 2, Succeeded: 2}), job(batchv1.JobStatus{Failed: 1, Succeeded: 1}), nil},
		{"an indexed Job may get fewer completions", workloads.Jobs(), scaled, job(batchv1.JobStatus{Succeeded: 2}), nil},
		{"a Job forgets", workloads.Jobs(), job(batchv1.JobStatus{}), job(batchv1.JobStatus{Failed: 1, Succeeded: 1}), []string{
			"status.failed: Invalid value: 0: cannot decrease the failed counter", "status.succeeded: Invalid value: 0: cannot decrease the succeeded counter",
		}},
		{"a negative count", workloads.Jobs(), job(batchv1.JobStatus{Active: -1}), job(batchv1.JobStatus{}),
			[]string{"status.active: Invalid value: -1: must be greater than or equal to 0"}},
		{"a Job begins again", workloads.Jobs(), job(is()), job(is(batchv1.JobComplete)),
			[]string{"status.conditions: Invalid value: cannot disable the terminal Complete=True condition"}},
		{"criteria that are no longer met", workloads.Jobs(), job(is()), job(is(batchv1.JobSuccessCriteriaMet)),
			[]string{"status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition"}},
		{"criteria that are met late", workloads.Jobs(), job(is(batchv1.JobComplete, batchv1.JobSuccessCriteriaMet)), job(is(batchv1.JobComplete)), []string{
			"status.conditions: Invalid value: cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions",
		}},
	} {
		assert.Equal(t, row.want, apitest.Words(row.kind.ValidateUpdateStatus(row.obj, row.old)), row.name)
	}
}
