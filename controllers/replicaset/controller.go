package replicaset

import (
	"context"
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/workload"
)

// ActorName is the name of this controller in upstream's controller manager, and the source of its events.
const ActorName = "replicaset-controller"

// New returns the factory of the controller.
// Upstream: replica_set.go NewReplicaSetController, v1.37.
func New() control.Factory {
	return factory(kind[*appsv1.ReplicaSet]{
		actor: ActorName, queue: "replicaset", resource: "replicasets", GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), terminating: true,
		view: func(set *appsv1.ReplicaSet) *appsv1.ReplicaSet { return set },
		get: func(ctx context.Context, client kubernetes.Interface, namespace, name string) (control.Object, error) {
			return client.AppsV1().ReplicaSets(namespace).Get(ctx, name, metav1.GetOptions{})
		},
		updateStatus: func(ctx context.Context, client kubernetes.Interface, set *appsv1.ReplicaSet, status *appsv1.ReplicaSetStatus) error {
			next := set.DeepCopy()
			next.Status = *status
			_, err := client.AppsV1().ReplicaSets(set.Namespace).UpdateStatus(ctx, next, metav1.UpdateOptions{})
			return err
		},
	})
}

// kind has all that differs between ReplicaSets and ReplicationControllers.
type kind[T control.Object] struct {
	// actor is the source of the events.
	actor, queue, resource string
	schema.GroupVersionKind
	// terminating: the status counts the pods that are being deleted.
	terminating bool
	// view returns an object as a ReplicaSet, which shares what the object has.
	view         func(obj T) *appsv1.ReplicaSet
	get          func(ctx context.Context, client kubernetes.Interface, namespace, name string) (control.Object, error)
	updateStatus func(ctx context.Context, client kubernetes.Interface, obj T, status *appsv1.ReplicaSetStatus) error
}

// factory returns the factory of the controller of a kind.
// Upstream: replica_set.go NewBaseController, v1.37.
func factory[T control.Object](kind kind[T]) control.Factory {
	return func(env control.Env) error {
		control.WithFirst(env, kind.GroupVersion().WithResource(kind.resource), func(sets *control.Cache[T]) control.Handler[T] {
			recorder := env.Recorder(kind.actor)
			c := &controller[T]{
				kind: kind, env: env, client: env.Client(), sets: sets, pods: control.NewCache[*v1.Pod](env, control.Pods()),
				expectations: workload.NewExpectations(env.Now), control: workload.Pods{Env: env, Recorder: recorder},
			}
			c.pods.AddIndex(workload.ByOwner, workload.OwnerKeys)
			c.sets.AddIndex(workload.ByOwner, workload.OwnerKeys)
			c.queue = env.Queue(control.QueueConfig{Name: kind.queue, About: control.KeysOf(kind.Kind), Reconcile: c.sync})
			owners := &workload.Owners[T]{
				Cache: sets, Kind: kind.Kind, Queue: c.queue, Expectations: c.expectations,
				Selector:        func(obj T) *metav1.LabelSelector { return kind.view(obj).Spec.Selector },
				MinReadySeconds: func(obj T) int32 { return kind.view(obj).Spec.MinReadySeconds },
			}
			c.pods.Handle(owners.Handler())
			return control.Enqueue[T](c.queue.Add)
		})
		return nil
	}
}

type controller[T control.Object] struct {
	kind         kind[T]
	env          control.Env
	client       kubernetes.Interface
	sets         *control.Cache[T]
	pods         *control.Cache[*v1.Pod]
	queue        control.Queue
	expectations *workload.Expectations
	control      workload.Pods
}

// sync brings the number of pods of one ReplicaSet to what it should be, and writes the status.
// Upstream: replica_set.go syncReplicaSet, v1.37.
func (c *controller[T]) sync(ctx context.Context, key string) error {
	obj, found := c.sets.Get(key)
	if !found {
		c.expectations.Forget(key)
		return nil
	}
	set := c.kind.view(obj)
	satisfied := c.expectations.Satisfied(key)
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil {
		return err // the API server accepts no such ReplicaSet
	}
	pods, err := c.claim(ctx, obj, selector)
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
		err = c.manageReplicas(ctx, key, obj, active)
	}
	status := c.calculateStatus(set, active, terminating, err)
	if set.Spec.MinReadySeconds > 0 && status.ReadyReplicas == replicas(set) && status.AvailableReplicas != replicas(set) {
		c.queue.AddAfter(key, time.Duration(set.Spec.MinReadySeconds)*time.Second)
	}
	return errors.Join(err, c.writeStatus(ctx, obj, status))
}

// claim returns the pods that belong to a ReplicaSet. It adopts and releases none that have ended or are being deleted.
// Upstream: replica_set.go claimPods, v1.37.
func (c *controller[T]) claim(ctx context.Context, obj T, selector labels.Selector) ([]*v1.Pod, error) {
	return workload.Claim(ctx, workload.Owner{
		Env: c.env, Object: obj, Kind: c.kind.GroupVersionKind, Selector: selector, Resource: control.Pods(), What: "Pod",
		Fresh: func(ctx context.Context) (control.Object, error) {
			return c.kind.get(ctx, c.client, obj.GetNamespace(), obj.GetName())
		},
		Looks: func(pod control.Object) bool { return workload.IsActive(pod.(*v1.Pod)) },
	}, c.pods)
}

// replicas returns the number of pods that there should be.
func replicas(set *appsv1.ReplicaSet) int32 {
	if set.Spec.Replicas == nil {
		return 1
	}
	return *set.Spec.Replicas
}
