package nodestatus

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/readonly"
	"github.com/storagesim/storagesim/internal/semantic"
	"github.com/storagesim/storagesim/internal/typedpatch"
)

// nodeStatusUpdateFrequency is the time between two turns of the node's status.
//
// Upstream: pkg/kubelet/apis/config NodeStatusUpdateFrequency, v1.37.
const nodeStatusUpdateFrequency = 10 * time.Second

// nodeStatusReportFrequency is the interval at which a status is written in which nothing has
// changed.
//
// Upstream: pkg/kubelet/apis/config NodeStatusReportFrequency, v1.37.
const nodeStatusReportFrequency = 5 * time.Minute

// ReportLater schedules a write of the node's status, at its next turn counted from the kubelet's
// start. Without it there is no turn.
//
// Upstream: kubelet.go Run, v1.37.
func (n *Node) ReportLater() {
	if n.reporting {
		return
	}
	n.reporting = true
	n.queue.AddAfter(n.name(), n.untilNextTurn())
}

// nodeStatusJitter is the share by which a turn of the node's status comes later, at most.
//
// Upstream: kubelet.go Run, v1.37.2.
const nodeStatusJitter = 0.04

// untilNextTurn returns how long it is to the next turn of the node's status, counted from the kubelet's start, or a turn before it.
// If turns may be late, all since then have come as much later as this choice says.
func (n *Node) untilNextTurn() time.Duration {
	period := nodeStatusUpdateFrequency
	if n.late {
		period = control.Backoff{First: period, Jitter: nodeStatusJitter}.Wait(n.env.Choose)
	}
	return period - n.env.Now().Sub(n.turned)%period
}

// reportNodeStatus carries out the turn of the node's status.
func (n *Node) reportNodeStatus(ctx context.Context, _ string) error {
	n.reporting = false
	if n.late {
		n.turned = n.env.Now()
	}
	return n.syncNodeStatus(ctx)
}

// reportAnyway writes the node's status even if it has not changed. If that fails, there
// is another round.
//
// Upstream: kubelet_node_status.go tryUpdateNodeStatus, v1.37.
func (n *Node) reportAnyway(ctx context.Context) {
	if !n.registered {
		return
	}
	if err := n.syncNodeStatus(ctx); err != nil || n.reported.Equal(n.env.Now()) {
		return
	}
	ctx = typedpatch.In(ctx, heartbeatPatch(n.now()))
	_, _ = n.env.Client().CoreV1().Nodes().Patch(ctx, n.name(), types.StrategicMergePatchType, nil, metav1.PatchOptions{}, "status")
}

// heartbeatPatch returns a patch that renews the heartbeats of the kubelet's conditions. Making it
// by comparing two versions of a node, as other patches, would be most of the cost of many idle
// nodes.
func heartbeatPatch(now metav1.Time) typedpatch.Values {
	var list []any
	for _, kind := range []v1.NodeConditionType{v1.NodeMemoryPressure, v1.NodeDiskPressure, v1.NodePIDPressure, v1.NodeReady} {
		list = append(list, map[string]any{"type": string(kind), "lastHeartbeatTime": now})
	}
	return typedpatch.Values{"status": map[string]any{"conditions": list}}
}

// syncNodeStatus writes the node's status if it has changed. From then on the volumes that it
// reports as in use may be mounted, if they are attached.
//
// Upstream: kubelet_node_status.go tryUpdateNodeStatus, v1.37.
func (n *Node) syncNodeStatus(ctx context.Context) error {
	old, err := n.env.Client().CoreV1().Nodes().Get(readonly.Answers(ctx), n.name(), metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("cannot read node %s: %w", n.name(), err)
	}
	n.latest = old
	n.recordNodeSchedulableEvent(old)
	node := withOwnConditions(old)
	n.setNodeStatus(node)
	if !semantic.Equal(old.Status, node.Status) {
		beat(node, n.now())
		n.reported = n.env.Now()
	}
	if node, err = patchNode(ctx, n.env.Client(), old, node); err != nil {
		return fmt.Errorf("cannot write the status of node %s: %w", n.name(), err)
	}
	n.latest, n.synced = node, node.ResourceVersion
	n.volumes.MarkVolumesAsReportedInUse(node.Status.VolumesInUse)
	return nil
}

// withOwnConditions returns a copy of a node whose conditions may be changed, as setNodeStatus and beat do. Everything else is shared.
func withOwnConditions(node *v1.Node) *v1.Node {
	copied := *node
	copied.Status.Conditions = slices.Clone(node.Status.Conditions)
	return &copied
}

// beat sets the heartbeats of the kubelet's conditions to now.
//
// Upstream: nodestatus/setters.go, v1.37: each condition gets the time whenever the status
// is computed.
func beat(node *v1.Node, now metav1.Time) {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type != v1.NodeNetworkUnavailable {
			c.LastHeartbeatTime = now
		}
	}
}

// setNodeStatus sets the status of a node. A condition that has not changed keeps its times. What comes from the template is shared with it.
//
// Upstream: kubelet_node_status.go setNodeStatus and nodestatus/setters.go, v1.37.
func (n *Node) setNodeStatus(node *v1.Node) {
	template, s := &n.template.Status, &node.Status
	s.Capacity, s.Allocatable, s.Addresses, s.NodeInfo = template.Capacity, template.Allocatable, template.Addresses, template.NodeInfo
	now := n.now()
	set := func(kind v1.NodeConditionType, status v1.ConditionStatus, reason, message string) {
		c := v1.NodeCondition{Type: kind, Status: status, Reason: reason, Message: message, LastHeartbeatTime: now, LastTransitionTime: now}
		at := slices.IndexFunc(s.Conditions, func(old v1.NodeCondition) bool { return old.Type == kind })
		switch {
		case at < 0:
			s.Conditions = append(s.Conditions, c)
		case s.Conditions[at].Status != status || s.Conditions[at].Reason != reason:
			s.Conditions[at] = c
		}
	}
	set(v1.NodeMemoryPressure, v1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available")
	set(v1.NodeDiskPressure, v1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure")
	set(v1.NodePIDPressure, v1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available")
	if n.registered {
		set(v1.NodeReady, v1.ConditionTrue, "KubeletReady", "kubelet is posting ready status")
	} else {
		set(v1.NodeReady, v1.ConditionFalse, "KubeletNotReady", "CSINode is not yet initialized")
	}
	s.VolumesInUse = n.volumes.VolumesToReport(s.VolumesInUse)
}
