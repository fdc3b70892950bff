package job

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/workload"
)

// TTLActorName is the name of the controller of ttlSecondsAfterFinished in upstream's controller manager.
const TTLActorName = "ttl-after-finished-controller"

// NewTTL returns the factory of the controller that deletes Jobs, with their pods, so long after they are finished as spec.ttlSecondsAfterFinished says.
// Upstream: ttlafterfinished_controller.go New, v1.37.
func NewTTL() control.Factory {
	return func(env control.Env) error {
		control.WithFirst(env, jobs(), func(jobs *control.Cache[*batchv1.Job]) control.Handler[*batchv1.Job] {
			c := &ttl{env: env, client: env.Client(), jobs: jobs}
			c.queue = env.Queue(control.QueueConfig{Name: "ttl_jobs_to_delete", About: control.KeysOf(kind), Reconcile: c.sync})
			enqueue := func(job *batchv1.Job) {
				if job.DeletionTimestamp == nil && job.Spec.TTLSecondsAfterFinished != nil && isFinished(job) {
					c.queue.Add(control.Key(job))
				}
			}
			return control.Handler[*batchv1.Job]{Add: enqueue, Update: func(_, job *batchv1.Job) { enqueue(job) }}
		})
		return nil
	}
}

type ttl struct {
	env    control.Env
	client kubernetes.Interface
	jobs   *control.Cache[*batchv1.Job]
	queue  control.Queue
}

// sync deletes a Job whose time is up, also by what the API server says of it.
// Upstream: ttlafterfinished_controller.go processJob, v1.37.
func (c *ttl) sync(ctx context.Context, key string) error {
	job, found := c.jobs.Get(key)
	if !found || !c.isExpired(key, job) {
		return nil
	}
	client := c.client.BatchV1().Jobs(job.Namespace)
	fresh, err := client.Get(ctx, job.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || !c.isExpired(key, fresh) {
		return err
	}
	return client.Delete(ctx, fresh.Name, metav1.DeleteOptions{
		PropagationPolicy: new(metav1.DeletePropagationForeground), Preconditions: &metav1.Preconditions{UID: &fresh.UID},
	})
}

// isExpired reports whether the time of a finished Job is up. If it is not yet, the Job is queued for then.
// Upstream: ttlafterfinished_controller.go processTTL, v1.37.
func (c *ttl) isExpired(key string, job *batchv1.Job) bool {
	at, finished := finishTime(job)
	if job.DeletionTimestamp != nil || job.Spec.TTLSecondsAfterFinished == nil || !finished {
		return false
	}
	left := at.Add(time.Duration(*job.Spec.TTLSecondsAfterFinished) * time.Second).Sub(c.env.Now())
	if left > 0 {
		workload.Later(c.env, c.queue, key, left)
	}
	return left <= 0
}
