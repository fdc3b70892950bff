package nodelifecycle

import (
	"context"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
)

// monitorNodeHealth checks all nodes: those that have been silent for too long become Unknown, those that are not
// ready are queued for a taint that evicts their pods, and those that are ready lose it.
// Upstream: node_lifecycle_controller.go monitorNodeHealth, v1.37.
func (c *controller) monitorNodeHealth(ctx context.Context) {
	nodes := c.nodes.List()
	c.classifyNodes(ctx, nodes)
	conditions := map[string][]*v1.NodeCondition{}
	for _, node := range nodes {
		node, observed, current := c.updateNodeHealth(ctx, node)
		if node == nil {
			continue
		}
		if _, excluded := node.Labels[labelNodeDisruptionExclusion]; !excluded {
			key := zoneOf(node)
			conditions[key] = append(conditions[key], current)
		}
		if current != nil {
			c.actOnHealth(ctx, node, observed, current)
		}
	}
	c.handleDisruption(ctx, conditions, nodes)
	c.startTainting()
}

// classifyNodes adds new nodes to those known, and removes those that are gone.
// Upstream: node_lifecycle_controller.go classifyNodes and monitorNodeHealth, v1.37.
func (c *controller) classifyNodes(ctx context.Context, nodes []*v1.Node) {
	for _, node := range nodes {
		c.addZone(node)
		if _, known := c.known[node.Name]; !known {
			c.known[node.Name] = node.UID
			c.markNodeAsReachable(ctx, node)
		}
	}
	if len(c.known) == len(nodes) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(c.known)) {
		if _, found := c.nodes.Get(name); !found {
			gone := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: c.known[name]}}
			c.recorder.Eventf(gone, v1.EventTypeNormal, "RemovingNode", "Node %s event: Removing Node %s from Controller", name, name)
			delete(c.known, name)
			delete(c.retry, name)
			delete(c.health, name)
		}
	}
}

// actOnHealth taints a node or removes taints, depending on its condition Ready, and marks pods of a lost node as
// not ready.
// Upstream: node_lifecycle_controller.go monitorNodeHealth, v1.37.
func (c *controller) actOnHealth(ctx context.Context, node *v1.Node, observed v1.NodeCondition, current *v1.NodeCondition) {
	c.processTaintBaseEviction(ctx, node, current)
	lost := current.Status != v1.ConditionTrue && observed.Status == v1.ConditionTrue
	if lost {
		c.recorder.Eventf(node, v1.EventTypeNormal, "NodeNotReady", "Node %s status is now: NodeNotReady", node.Name)
	}
	if lost || c.retry[node.Name] && observed.Status != v1.ConditionTrue {
		if !c.markPodsNotReady(ctx, node.Name) {
			c.retry[node.Name] = true
			return
		}
	}
	delete(c.retry, node.Name)
}

// processTaintBaseEviction queues a node that is not ready for the taint that evicts its pods. A node with the other
// one of the two taints gets the right one at once.
// Upstream: node_lifecycle_controller.go processTaintBaseEviction, v1.37.
func (c *controller) processTaintBaseEviction(ctx context.Context, node *v1.Node, current *v1.NodeCondition) {
	want, opposite := evictionTaint(current.Status)
	switch {
	case want.Key == "":
		c.markNodeAsReachable(ctx, node)
	case hasTaint(node, opposite):
		// If that fails, the next round tries again.
		_ = c.swapNodeControllerTaint(ctx, node.Name, []v1.Taint{want}, []v1.Taint{opposite})
	default:
		c.markNodeForTainting(node, want)
	}
}

// markPodsNotReady sets the node's pods to not ready, and reports whether it could.
// Upstream: pkg/controller/util/node MarkPodsNotReady, v1.37.
func (c *controller) markPodsNotReady(ctx context.Context, name string) bool {
	selector := fields.OneTermEqualSelector("spec.nodeName", name).String()
	pods, err := c.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: selector})
	if err != nil {
		return false
	}
	done := true
	for i := range pods.Items {
		pod := &pods.Items[i]
		at := slices.IndexFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodReady })
		if at < 0 || pod.Status.Conditions[at].Status == v1.ConditionFalse {
			continue
		}
		pod.Status.Conditions[at].Status = v1.ConditionFalse
		pod.Status.Conditions[at].LastTransitionTime = metav1.NewTime(c.env.Now())
		_, err := c.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			done = false
		}
		c.recorder.Event(pod, v1.EventTypeWarning, "NodeNotReady", "Node is not ready")
	}
	return done
}
