package statefulset

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
const ActorName = "statefulset-controller"

// Config changes what the controller does otherwise than upstream's.
type Config struct {
	// OwnAtOnce creates a claim with the owner that the set's retention policy asks for. Default false, as upstream: the claim is created
	// without an owner, which it gets once the controller's cache shows it. A set that is deleted before that leaves the claim and its volume.
	OwnAtOnce bool
}

// New returns the factory of the controller.
// Upstream: stateful_set.go NewStatefulSetController, v1.37.
func New(cfg Config) control.Factory {
	return func(env control.Env) error {
		c := &controller{
			cfg: cfg, env: env, client: env.Client(), recorder: env.Recorder(ActorName),
			sets:   control.NewCache[*appsv1.StatefulSet](env, appsv1.SchemeGroupVersion.WithResource("statefulsets")),
			pods:   control.NewCache[*v1.Pod](env, control.Pods()),
			claims: control.NewCache[*v1.PersistentVolumeClaim](env, control.PersistentVolumeClaims()),
			// at once: it takes no part in runs without sets
			revisions: control.NewCacheAtOnce[*appsv1.ControllerRevision](env, workload.ControllerRevisions()),
		}
		c.revisions.AddIndex(workload.ByOwner, workload.OwnerKeys)
		c.pods.AddIndex(podsByOwner, ownerOf)
		c.queue = env.Queue(control.QueueConfig{Name: "statefulsets", About: control.KeysOf("StatefulSet"), Reconcile: c.sync})
		c.sets.Handle(control.Enqueue[*appsv1.StatefulSet](c.queue.Add))
		c.pods.Handle(control.Handler[*v1.Pod]{
			Add:    c.podAdded,
			Update: c.podUpdated,
			Delete: c.enqueueSetOf,
		})
		return nil
	}
}

type controller struct {
	cfg       Config
	env       control.Env
	client    kubernetes.Interface
	recorder  control.Recorder
	sets      *control.Cache[*appsv1.StatefulSet]
	pods      *control.Cache[*v1.Pod]
	claims    *control.Cache[*v1.PersistentVolumeClaim]
	revisions *control.Cache[*appsv1.ControllerRevision]
	queue     control.Queue
}

// enqueueSetOf queues the set whose pod has changed.
// Upstream: stateful_set.go deletePod, resolveControllerRef, v1.37.
func (c *controller) enqueueSetOf(pod *v1.Pod) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || owner.Kind != controllerKind {
		return
	}
	if set, found := c.sets.Get(pod.Namespace + "/" + owner.Name); found && set.UID == owner.UID {
		c.queue.Add(control.Key(set))
	}
}

// sync brings one set a step further and writes its status.
// Upstream: stateful_set.go sync, and stateful_set_control.go performUpdate, v1.37.
func (c *controller) sync(ctx context.Context, key string) error {
	set, found := c.sets.Get(key)
	if !found {
		return nil
	}
	pods, err := c.claimPods(ctx, set)
	if err != nil {
		return err
	}
	versions, err := c.getStatefulSetRevisions(ctx, set)
	if err != nil {
		return err
	}
	status := newStatus(set, pods, versions, c.env.Now())
	if set.DeletionTimestamp == nil {
		err = c.updateStatefulSet(ctx, set, versions, pods)
	}
	if set.Spec.MinReadySeconds > 0 && status.AvailableReplicas < status.ReadyReplicas {
		c.queue.AddAfter(key, time.Duration(set.Spec.MinReadySeconds)*time.Second)
	}
	if statusErr := c.updateStatus(ctx, set, status); err != nil || statusErr != nil {
		return errors.Join(err, statusErr)
	}
	return c.truncateHistory(ctx, set, pods, versions)
}
