package kubelet

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nodeStatusUpdateFrequency is how often the kubelet brings the node's status up to
// date.
//
// Upstream: pkg/kubelet/apis/config NodeStatusUpdateFrequency, v1.36.
const nodeStatusUpdateFrequency = 10 * time.Second

// reportLater has the node's status brought up to date the next time that it is its
// turn, counted from the kubelet's start. When there is nothing new nobody looks.
//
// Upstream: kubelet.go Run, v1.36.
func (k *kubelet) reportLater() {
	if k.reporting {
		return
	}
	k.reporting = true
	since := k.env.Now().Sub(k.started)
	k.statusQueue.AddAfter(k.node.Name, nodeStatusUpdateFrequency-since%nodeStatusUpdateFrequency)
}

// reportNodeStatus is the turn of the node's status.
func (k *kubelet) reportNodeStatus(ctx context.Context, _ string) error {
	k.reporting = false
	return k.syncNodeStatus(ctx)
}

// syncNodeStatus writes the node's status if it has changed. What it says is in use may
// be mounted then, if it is attached.
//
// Upstream: kubelet_node_status.go tryUpdateNodeStatus, v1.36.
func (k *kubelet) syncNodeStatus(ctx context.Context) error {
	old, err := k.env.Client().CoreV1().Nodes().Get(ctx, k.node.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("cannot read node %s: %w", k.node.Name, err)
	}
	node := old.DeepCopy()
	k.setNodeStatus(node)
	if node, err = k.patchNode(ctx, old, node); err != nil {
		return fmt.Errorf("cannot write the status of node %s: %w", k.node.Name, err)
	}
	k.markVolumesAsReportedInUse(node.Status.VolumesInUse)
	return nil
}

// setNodeStatus gives a node the kubelet's status. A condition that holds already keeps
// its times.
//
// Upstream: kubelet_node_status.go setNodeStatus and nodestatus/setters.go, v1.36.
func (k *kubelet) setNodeStatus(node *v1.Node) {
	template := k.node.Status.DeepCopy()
	s := &node.Status
	s.Capacity, s.Allocatable, s.Addresses, s.NodeInfo = template.Capacity, template.Allocatable, template.Addresses, template.NodeInfo
	now := k.now()
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
	if k.registered {
		set(v1.NodeReady, v1.ConditionTrue, "KubeletReady", "kubelet is posting ready status")
	} else {
		set(v1.NodeReady, v1.ConditionFalse, "KubeletNotReady", "CSINode is not yet initialized")
	}
	s.VolumesInUse = k.volumesToReport(s.VolumesInUse)
}
