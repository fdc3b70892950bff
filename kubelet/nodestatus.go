package kubelet

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// nodeStatusUpdateFrequency is how often the kubelet brings the node's status up to
// date.
//
// Upstream: pkg/kubelet/apis/config NodeStatusUpdateFrequency, v1.36.
const nodeStatusUpdateFrequency = 10 * time.Second

// nodeStatusReportFrequency is how often it writes a status in which nothing has changed.
//
// Upstream: pkg/kubelet/apis/config NodeStatusReportFrequency, v1.36.
const nodeStatusReportFrequency = 5 * time.Minute

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

// reportAnyway writes the node's status even if it has not changed. If that fails, there
// is another round.
//
// Upstream: kubelet_node_status.go tryUpdateNodeStatus, v1.36.
func (k *kubelet) reportAnyway(ctx context.Context) {
	if !k.registered {
		return
	}
	if err := k.syncNodeStatus(ctx); err != nil || k.reported.Equal(k.env.Now()) {
		return
	}
	_, _ = k.env.Client().CoreV1().Nodes().
		Patch(ctx, k.node.Name, types.StrategicMergePatchType, heartbeatPatch(k.now()), metav1.PatchOptions{}, "status")
}

// heartbeatPatch has the kubelet's conditions hold now. To make it by comparing two versions
// of a node, as for other patches, would be most of the cost of many nodes that are idle.
func heartbeatPatch(now metav1.Time) []byte {
	var list []string
	at := now.UTC().Format(time.RFC3339)
	for _, kind := range []v1.NodeConditionType{v1.NodeMemoryPressure, v1.NodeDiskPressure, v1.NodePIDPressure, v1.NodeReady} {
		list = append(list, fmt.Sprintf(`{"type":%q,"lastHeartbeatTime":%q}`, kind, at))
	}
	return []byte(`{"status":{"conditions":[` + strings.Join(list, ",") + `]}}`)
}

// syncNodeStatus writes the node's status if it has changed. What it says is in use may be
// mounted then, if it is attached.
//
// Upstream: kubelet_node_status.go tryUpdateNodeStatus, v1.36.
func (k *kubelet) syncNodeStatus(ctx context.Context) error {
	old, err := k.env.Client().CoreV1().Nodes().Get(ctx, k.node.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("cannot read node %s: %w", k.node.Name, err)
	}
	node := old.DeepCopy()
	k.setNodeStatus(node)
	if !apiequality.Semantic.DeepEqual(old.Status, node.Status) {
		beat(node, k.now())
		k.reported = k.env.Now()
	}
	if node, err = k.patchNode(ctx, old, node); err != nil {
		return fmt.Errorf("cannot write the status of node %s: %w", k.node.Name, err)
	}
	k.volumes.MarkVolumesAsReportedInUse(node.Status.VolumesInUse)
	return nil
}

// beat says of the kubelet's conditions that they hold now.
//
// Upstream: nodestatus/setters.go, v1.36: each condition gets the time whenever the status
// is computed.
func beat(node *v1.Node, now metav1.Time) {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type != v1.NodeNetworkUnavailable {
			c.LastHeartbeatTime = now
		}
	}
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
	s.VolumesInUse = k.volumes.VolumesToReport(s.VolumesInUse)
}
