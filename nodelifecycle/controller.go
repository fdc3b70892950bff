package nodelifecycle

import (
	"context"
	"encoding/json"
	"slices"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
)

// ActorName is what upstream's controller manager calls this controller at the API
// server.
const ActorName = "node-controller"

// New makes the controller.
// Upstream: node_lifecycle_controller.go NewNodeLifecycleController, v1.36.
func New() control.Factory {
	return func(env control.Env) error {
		c := &controller{
			env: env, client: env.Client(),
			nodes: control.NewCache[*v1.Node](env, control.Nodes()),
		}
		queue := env.Queue(control.QueueConfig{Name: "node_lifecycle_controller", About: control.KeysOf("Node"), Reconcile: c.doNoScheduleTaintingPass})
		c.nodes.Handle(control.Handler[*v1.Node]{
			Add:    func(node *v1.Node) { queue.Add(node.Name) },
			Update: func(_, node *v1.Node) { queue.Add(node.Name) },
		})
		return nil
	}
}

type controller struct {
	env    control.Env
	client kubernetes.Interface
	nodes  *control.Cache[*v1.Node]
}

// doNoScheduleTaintingPass gives a node the taints of its conditions and removes those
// whose conditions do not hold any more.
// Upstream: node_lifecycle_controller.go doNoScheduleTaintingPass, v1.36.
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
	return c.swapNodeControllerTaint(ctx, name, add, remove)
}

// swapNodeControllerTaint adds taints, and then removes others. Each is a patch of its
// own.
// Upstream: pkg/controller/util/node SwapNodeControllerTaint, v1.36.
func (c *controller) swapNodeControllerTaint(ctx context.Context, name string, add, remove []v1.Taint) error {
	now := metav1.NewTime(c.env.Now())
	for i := range add {
		add[i].TimeAdded = &now
	}
	err := c.patchNodeTaints(ctx, name, func(taints []v1.Taint) []v1.Taint { return append(taints, without(add, taints)...) })
	if err == nil {
		err = c.patchNodeTaints(ctx, name, func(taints []v1.Taint) []v1.Taint { return without(taints, remove) })
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// patchNodeTaints changes a node's taints, if that changes them, and nobody else has
// changed the node meanwhile.
// Upstream: pkg/controller/controller_utils.go PatchNodeTaints, v1.36.
func (c *controller) patchNodeTaints(ctx context.Context, name string, change func([]v1.Taint) []v1.Taint) error {
	node, err := c.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	taints := change(slices.Clone(node.Spec.Taints))
	if len(without(taints, node.Spec.Taints)) == 0 && len(without(node.Spec.Taints, taints)) == 0 {
		return nil
	}
	var value any // null removes the field
	if len(taints) > 0 {
		value = taints
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": node.ResourceVersion},
		"spec":     map[string]any{"taints": value},
	})
	if err == nil {
		_, err = c.client.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	}
	return err
}
