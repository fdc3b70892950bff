package nodelifecycle

import (
	"context"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/trace"
)

// ActorName is the name of this controller in upstream's controller manager.
const ActorName = "node-controller"

// Upstream: pkg/controller/nodelifecycle/config/v1alpha1
// RecommendedDefaultNodeLifecycleControllerConfiguration, v1.37.
const (
	// nodeMonitorPeriod is the interval at which all nodes are checked.
	nodeMonitorPeriod = 5 * time.Second
	// nodeMonitorGracePeriod is the time that a node may be silent, nodeStartupGracePeriod that of a node that has
	// not reported anything yet.
	nodeMonitorGracePeriod = 50 * time.Second
	nodeStartupGracePeriod = 60 * time.Second
)

// New returns the factory of the controller.
// Upstream: node_lifecycle_controller.go NewNodeLifecycleController, v1.37.
func New() control.Factory {
	return func(env control.Env) error {
		c := &controller{
			env: env, client: env.Client(), recorder: env.Recorder("node-controller"),
			nodes:  control.NewCache[*v1.Node](env, control.Nodes()),
			leases: control.NewCache[*coordinationv1.Lease](env, control.Leases()),
			known:  map[string]types.UID{}, health: map[string]*nodeHealth{}, retry: map[string]bool{}, zones: map[string]*zone{},
		}
		queue := env.Queue(control.QueueConfig{Name: "node_lifecycle_controller", About: control.KeysOf("Node"), Reconcile: c.doNoScheduleTaintingPass})
		c.nodes.Handle(control.Handler[*v1.Node]{
			Add:    func(node *v1.Node) { queue.Add(node.Name) },
			Update: func(_, node *v1.Node) { queue.Add(node.Name) },
		})
		env.Every("monitor the health of nodes", nodeMonitorPeriod, c.monitorNodeHealth)
		return nil
	}
}

type controller struct {
	env      control.Env
	client   kubernetes.Interface
	recorder control.Recorder
	nodes    *control.Cache[*v1.Node]
	leases   *control.Cache[*coordinationv1.Lease]

	// known holds the nodes seen in the last round, health the last signs of life of each, and retry the nodes whose
	// pods could not be marked as not ready.
	known  map[string]types.UID
	health map[string]*nodeHealth
	// mustSee is the version of a lease that the cache lacked at the last live look.
	mustSee leaseVersion
	retry   map[string]bool
	zones   map[string]*zone
	// tainting is true while a task works through the zones' queues.
	tainting bool
}

// doNoScheduleTaintingPass gives a node the taints of its conditions, and removes those of conditions that do not
// hold any more.
// Upstream: node_lifecycle_controller.go doNoScheduleTaintingPass, v1.37.
func (c *controller) doNoScheduleTaintingPass(ctx context.Context, name string) error {
	node, found := c.nodes.Get(name)
	if !found {
		return nil
	}
	want := taintsOf(node)
	have := slices.DeleteFunc(slices.Clone(node.Spec.Taints), func(t v1.Taint) bool { return !isConditionTaint(t) })
	add, remove := without(want, have), without(have, want)
	if len(add) == 0 && len(remove) == 0 {
		return nil
	}
	err := c.swapNodeControllerTaint(ctx, name, add, remove)
	if err != nil {
		c.env.Trace(trace.Deviate(trace.TaintRepeated, trace.Ref{Kind: "Node", Name: name}))
	}
	return err
}
