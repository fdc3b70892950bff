package daemonset

import (
	"cmp"
	"context"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/semantic"
	"github.com/storagesim/storagesim/internal/workload"
)

// ActorName is the name of this controller in upstream's controller manager, and the source of its events.
const ActorName = "daemonset-controller"

// kind is the kind of the owners of pods and ControllerRevisions.
const kind = "DaemonSet"

// byNode is the name of the index of pods by spec.nodeName.
const byNode = "node"

// New returns the factory of the controller.
// Upstream: daemon_controller.go NewDaemonSetsController, v1.37.
func New() control.Factory {
	return func(env control.Env) error {
		control.WithFirst(env, appsv1.SchemeGroupVersion.WithResource("daemonsets"), func(sets *control.Cache[*appsv1.DaemonSet]) control.Handler[*appsv1.DaemonSet] {
			recorder := env.Recorder(ActorName)
			c := &controller{
				env: env, client: env.Client(), recorder: recorder, sets: sets,
				pods: control.NewCache[*v1.Pod](env, control.Pods()), nodes: control.NewCache[*v1.Node](env, control.Nodes()),
				revisions:    control.NewCache[*appsv1.ControllerRevision](env, workload.ControllerRevisions()),
				expectations: workload.NewExpectations(env.Now), control: workload.Pods{Env: env, Recorder: recorder}, failures: map[string]failure{},
			}
			c.pods.AddIndex(workload.ByOwner, workload.OwnerKeys)
			c.pods.AddIndex(byNode, func(pod *v1.Pod) []string { return []string{pod.Spec.NodeName} })
			c.revisions.AddIndex(workload.ByOwner, workload.OwnerKeys)
			c.queue = env.Queue(control.QueueConfig{Name: "daemonset", About: control.KeysOf(kind), Reconcile: c.sync})
			owners := &workload.Owners[*appsv1.DaemonSet]{
				Cache: sets, Kind: kind, Queue: c.queue, Expectations: c.expectations,
				Selector:        func(set *appsv1.DaemonSet) *metav1.LabelSelector { return set.Spec.Selector },
				MinReadySeconds: func(set *appsv1.DaemonSet) int32 { return set.Spec.MinReadySeconds },
			}
			c.pods.Handle(owners.Handler())
			c.nodes.Handle(control.Handler[*v1.Node]{Add: c.nodeChanged, Update: c.updateNode})
			return control.Enqueue[*appsv1.DaemonSet](c.queue.Add)
		})
		return nil
	}
}

func controllerKind() schema.GroupVersionKind { return appsv1.SchemeGroupVersion.WithKind(kind) }

type controller struct {
	env          control.Env
	client       kubernetes.Interface
	recorder     control.Recorder
	sets         *control.Cache[*appsv1.DaemonSet]
	pods         *control.Cache[*v1.Pod]
	nodes        *control.Cache[*v1.Node]
	revisions    *control.Cache[*appsv1.ControllerRevision]
	queue        control.Queue
	expectations *workload.Expectations
	control      workload.Pods
	// failures holds how long to wait before the next failed pod of a DaemonSet on a node is deleted: see failureKey.
	failures map[string]failure
}

// updateNode looks at a node if its labels or taints have changed: nothing else of it matters.
// Upstream: daemon_controller.go updateNode, shouldIgnoreNodeUpdate, v1.37.
func (c *controller) updateNode(old, node *v1.Node) {
	if !maps.Equal(old.Labels, node.Labels) || !semantic.Equal(old.Spec.Taints, node.Spec.Taints) {
		c.nodeChanged(node)
	}
}

// nodeChanged queues the DaemonSets that lack a pod on the node, that have one too many there, or whose pods were on nodes that they do not fit.
// Upstream: daemon_controller.go syncNodeUpdate, v1.37.
func (c *controller) nodeChanged(node *v1.Node) {
	scheduled := map[string]bool{} // DaemonSets with a pod there
	for _, pod := range c.pods.ByIndex(byNode, node.Name) {
		if key, owned := workload.KeyOfOwner(c.sets, kind, pod); owned {
			scheduled[key] = true
		}
	}
	for set := range c.sets.All() {
		key := control.Key(set)
		shouldRun, shouldContinue := shouldRunOn(node, set, podTolerations(set))
		if shouldRun && !scheduled[key] || scheduled[key] && (!shouldContinue || set.Status.NumberMisscheduled > 0) {
			c.queue.Add(key)
		}
	}
}

// look is one look at a DaemonSet, with the nodes as the cache has them then.
type look struct {
	*controller
	key string
	set *appsv1.DaemonSet
	// hash is the label of pods of the present template.
	hash        string
	tolerations []v1.Toleration
}

// sync does for one DaemonSet what has to be done next. One that is being deleted is left to the garbage collector.
// Upstream: daemon_controller.go syncDaemonSet, v1.37.
func (c *controller) sync(ctx context.Context, key string) error {
	set, found := c.sets.Get(key)
	if !found {
		c.expectations.Forget(key)
		return nil
	}
	if set.DeletionTimestamp != nil {
		return nil
	}
	l := &look{controller: c, key: key, set: set, tolerations: podTolerations(set)}
	current, old, err := l.constructHistory(ctx)
	if err != nil {
		return err
	}
	l.hash = current.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	if !c.expectations.Satisfied(key) {
		return l.updateStatus(ctx, false)
	}
	err = l.update(ctx, old)
	statusErr := l.updateStatus(ctx, true)
	return cmp.Or(err, statusErr)
}

// update creates and deletes pods, goes on with a rolling update, and deletes old revisions.
// Upstream: daemon_controller.go updateDaemonSet, v1.37.
func (l *look) update(ctx context.Context, old []*appsv1.ControllerRevision) error {
	if err := l.manage(ctx); err != nil {
		return err
	}
	if l.set.Spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType && l.expectations.Satisfied(l.key) {
		if err := l.rollingUpdate(ctx); err != nil {
			return err
		}
	}
	return l.cleanupHistory(ctx, old)
}
