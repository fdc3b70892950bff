package replicaset

import (
	"context"
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/workload"
)

// ActorName is the name of this controller in upstream's controller manager, and the source of its events.
const ActorName = "replicaset-controller"

// kind is the kind of the pods' owners.
const kind = "ReplicaSet"

// New returns the factory of the controller.
// Upstream: replica_set.go NewReplicaSetController, v1.37.
func New() control.Factory {
	return func(env control.Env) error {
		control.WithFirst(env, appsv1.SchemeGroupVersion.WithResource("replicasets"),
			func(sets *control.Cache[*appsv1.ReplicaSet]) control.Handler[*appsv1.ReplicaSet] {
				recorder := env.Recorder(ActorName)
				c := &controller{
					env: env, client: env.Client(), recorder: recorder, sets: sets, pods: control.NewCache[*v1.Pod](env, control.Pods()),
					expectations: workload.NewExpectations(env.Now), control: workload.Pods{Env: env, Recorder: recorder},
				}
				c.pods.AddIndex(workload.ByOwner, workload.OwnerKeys)
				c.sets.AddIndex(workload.ByOwner, workload.OwnerKeys)
				c.queue = env.Queue(control.QueueConfig{Name: "replicaset", About: control.KeysOf(kind), Reconcile: c.sync})
				owners := &workload.Owners[*appsv1.ReplicaSet]{
					Cache: sets, Kind: kind, Queue: c.queue, Expectations: c.expectations,
					Selector:        func(set *appsv1.ReplicaSet) *metav1.LabelSelector { return set.Spec.Selector },
					MinReadySeconds: func(set *appsv1.ReplicaSet) int32 { return set.Spec.MinReadySeconds },
				}
				c.pods.Handle(owners.Handler())
				return control.Enqueue[*appsv1.ReplicaSet](c.queue.Add)
			})
		return nil
	}
}

type controller struct {
	env          control.Env
	client       kubernetes.Interface
	recorder     control.Recorder
	sets         *control.Cache[*appsv1.ReplicaSet]
	pods         *control.Cache[*v1.Pod]
	queue        control.Queue
	expectations *workload.Expectations
	control      workload.Pods
}

// sync brings the number of pods of one ReplicaSet to what it should be, and writes the status.
// Upstream: replica_set.go syncReplicaSet, v1.37.
func (c *controller) sync(ctx context.Context, key string) error {
	set, found := c.sets.Get(key)
	if !found {
		c.expectations.Forget(key)
		return nil
	}
	satisfied := c.expectations.Satisfied(key)
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil {
		return err // the API server accepts no such ReplicaSet
	}
	pods, err := workload.Claim(ctx, workload.Owner{
		Env: c.env, Object: set, Kind: appsv1.SchemeGroupVersion.WithKind(kind), Selector: selector, Resource: control.Pods(), What: "Pod",
		Fresh: func(ctx context.Context) (control.Object, error) {
			return c.client.AppsV1().ReplicaSets(set.Namespace).Get(ctx, set.Name, metav1.GetOptions{})
		},
	}, c.pods)
	if err != nil {
		return err
	}
	var active []*v1.Pod
	terminating := int32(0)
	for _, pod := range pods {
		switch {
		case workload.IsActive(pod):
			active = append(active, pod)
		case workload.IsTerminating(pod):
			terminating++
		}
	}
	if satisfied && set.DeletionTimestamp == nil {
		err = c.manageReplicas(ctx, key, set, active)
	}
	status := c.calculateStatus(set, active, terminating, err)
	if set.Spec.MinReadySeconds > 0 && status.ReadyReplicas == replicas(set) && status.AvailableReplicas != replicas(set) {
		c.queue.AddAfter(key, time.Duration(set.Spec.MinReadySeconds)*time.Second)
	}
	return errors.Join(err, c.updateStatus(ctx, set, status))
}

// replicas returns the number of pods that there should be.
func replicas(set *appsv1.ReplicaSet) int32 {
	if set.Spec.Replicas == nil {
		return 1
	}
	return *set.Spec.Replicas
}
