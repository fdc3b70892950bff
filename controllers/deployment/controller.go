package deployment

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/workload"
)

// ActorName is the name of this controller in upstream's controller manager, and the source of its events.
const ActorName = "deployment-controller"

// kind is the kind of the ReplicaSets' owners, and setKind that of the pods'.
const (
	kind    = "Deployment"
	setKind = "ReplicaSet"
)

// New returns the factory of the controller.
// Upstream: deployment_controller.go NewDeploymentController, v1.37.
func New() control.Factory {
	return func(env control.Env) error {
		control.WithFirst(env, appsv1.SchemeGroupVersion.WithResource("deployments"),
			func(deployments *control.Cache[*appsv1.Deployment]) control.Handler[*appsv1.Deployment] {
				c := &controller{
					env: env, client: env.Client(), recorder: env.Recorder(ActorName), deployments: deployments,
					sets: control.NewCache[*appsv1.ReplicaSet](env, replicaSets()), pods: control.NewCache[*v1.Pod](env, control.Pods()),
				}
				c.sets.AddIndex(workload.ByOwner, workload.OwnerKeys)
				c.pods.AddIndex(workload.ByOwner, workload.OwnerKeys)
				c.queue = env.Queue(control.QueueConfig{Name: "deployment", About: control.KeysOf(kind), Reconcile: c.sync})
				c.sets.Handle(control.Handler[*appsv1.ReplicaSet]{Add: c.addReplicaSet, Update: c.updateReplicaSet, Delete: c.enqueueOwner})
				c.pods.Handle(control.Handler[*v1.Pod]{Delete: c.deletePod})
				return control.Enqueue[*appsv1.Deployment](c.queue.Add)
			})
		return nil
	}
}

type controller struct {
	env         control.Env
	client      kubernetes.Interface
	recorder    control.Recorder
	deployments *control.Cache[*appsv1.Deployment]
	sets        *control.Cache[*appsv1.ReplicaSet]
	pods        *control.Cache[*v1.Pod]
	queue       control.Queue
}

// addReplicaSet queues the owner of a new ReplicaSet, or the Deployments that might adopt it.
// Upstream: deployment_controller.go addReplicaSet, v1.37.
func (c *controller) addReplicaSet(set *appsv1.ReplicaSet) {
	c.enqueueOwner(set)
	if set.DeletionTimestamp == nil && metav1.GetControllerOfNoCopy(set) == nil {
		c.enqueueSelecting(set)
	}
}

// updateReplicaSet queues the owners of a ReplicaSet, those that it had and those that might adopt it.
// Upstream: deployment_controller.go updateReplicaSet, v1.37.
func (c *controller) updateReplicaSet(old, set *appsv1.ReplicaSet) {
	moved := workload.Moved(old, set)
	if moved {
		c.enqueueOwner(old)
	}
	c.enqueueOwner(set)
	if metav1.GetControllerOfNoCopy(set) == nil && (moved || !labels.Equals(old.Labels, set.Labels)) {
		c.enqueueSelecting(set)
	}
}

func (c *controller) enqueueOwner(set *appsv1.ReplicaSet) {
	if key, owned := workload.KeyOfOwner(c.deployments, kind, set); owned {
		c.queue.Add(key)
	}
}

func (c *controller) enqueueSelecting(set *appsv1.ReplicaSet) {
	for _, key := range workload.Selecting(c.deployments, set, func(d *appsv1.Deployment) *metav1.LabelSelector { return d.Spec.Selector }) {
		c.queue.Add(key)
	}
}

// deletePod queues a Deployment that waits for its last old pod to be gone.
// Upstream: deployment_controller.go deletePod, v1.37.
func (c *controller) deletePod(pod *v1.Pod) {
	setKey, owned := workload.KeyOfOwner(c.sets, setKind, pod)
	if !owned {
		return
	}
	set, _ := c.sets.Get(setKey)
	key, owned := workload.KeyOfOwner(c.deployments, kind, set)
	if !owned {
		return
	}
	d, _ := c.deployments.Get(key)
	if d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		return
	}
	for _, sibling := range c.sets.ByIndex(workload.ByOwner, string(d.UID)) {
		if len(c.podsOf(sibling)) > 0 {
			return
		}
	}
	c.queue.Add(key)
}

// podsOf returns the pods of a ReplicaSet.
func (c *controller) podsOf(set *appsv1.ReplicaSet) []*v1.Pod {
	return c.pods.ByIndex(workload.ByOwner, string(set.UID))
}

// rollout is one look at a Deployment: a copy of it, which the steps change as they write it, and its ReplicaSets.
type rollout struct {
	*controller
	key string
	d   *appsv1.Deployment
	// all holds the ReplicaSets that belong to the Deployment, as the cache or the last write has them.
	all []*appsv1.ReplicaSet
}

// sync does for one Deployment what has to be done next.
// Upstream: deployment_controller.go syncDeployment, v1.37.
func (c *controller) sync(ctx context.Context, key string) error {
	cached, found := c.deployments.Get(key)
	if !found {
		return nil
	}
	r := &rollout{controller: c, key: key, d: cached.DeepCopy()}
	selector, err := metav1.LabelSelectorAsSelector(r.d.Spec.Selector)
	if err != nil {
		return err // the API server accepts no such Deployment
	}
	r.all, err = workload.Claim(ctx, workload.Owner{
		Env: c.env, Object: cached, Kind: appsv1.SchemeGroupVersion.WithKind(kind), Selector: selector, Resource: replicaSets(), What: setKind,
		Fresh: func(ctx context.Context) (control.Object, error) {
			return c.client.AppsV1().Deployments(cached.Namespace).Get(ctx, cached.Name, metav1.GetOptions{})
		},
	}, c.sets)
	if err != nil {
		return err
	}
	if r.d.DeletionTimestamp != nil {
		newSet, _ := r.findNewReplicaSet()
		return r.syncStatus(ctx, newSet)
	}
	if err := r.checkPausedConditions(ctx); err != nil {
		return err
	}
	switch {
	case r.d.Spec.Paused || r.isScalingEvent():
		return r.syncScale(ctx)
	case r.d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType:
		return r.rolloutRecreate(ctx)
	}
	return r.rolloutRolling(ctx)
}
