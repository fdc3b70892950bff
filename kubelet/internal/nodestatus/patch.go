package nodestatus

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	nodeutil "k8s.io/component-helpers/node/util"

	"github.com/storagesim/storagesim/internal/semantic"
	"github.com/storagesim/storagesim/internal/typedpatch"
)

// patchNode patches a Node with the differences in metadata and status, if there are any.
func patchNode(ctx context.Context, client kubernetes.Interface, old, node *v1.Node) (*v1.Node, error) {
	if semantic.Equal(old.Labels, node.Labels) && semantic.Equal(old.Annotations, node.Annotations) &&
		semantic.Equal(old.Status, node.Status) {
		return old, nil
	}
	from, to := &v1.Node{ObjectMeta: old.ObjectMeta, Status: old.Status}, &v1.Node{ObjectMeta: node.ObjectMeta, Status: node.Status}
	semantic.DropEqual(&from.ObjectMeta, &to.ObjectMeta)
	semantic.DropEqual(&from.Status, &to.Status)
	if patch, ok := patchOfStatus(from, to); ok {
		updated, err := client.CoreV1().Nodes().Patch(typedpatch.In(ctx, patch), node.Name, types.StrategicMergePatchType, nil, metav1.PatchOptions{}, "status")
		if err != nil {
			text, _ := json.Marshal(patch) // it has been marshaled, or could be
			err = fmt.Errorf("failed to patch status %q for node %q: %w", text, node.Name, err)
		}
		return updated, err
	}
	updated, _, err := nodeutil.PatchNodeStatus(client.CoreV1(), types.NodeName(node.Name), from, to)
	return updated, err
}

// patchOfStatus returns the patch that the library would make of two nodes, if only texts and times of conditions and the volumes in use differ, as
// in nearly every patch. The library compares both nodes in JSON, which takes far longer.
func patchOfStatus(from, to *v1.Node) (patch typedpatch.Values, ok bool) {
	was, is := from.Status, to.Status
	from.Status.Conditions, to.Status.Conditions = nil, nil
	from.Status.VolumesInUse, to.Status.VolumesInUse = nil, nil
	alike := semantic.Equal(from.ObjectMeta, to.ObjectMeta) && semantic.Equal(from.Status, to.Status)
	from.Status, to.Status = was, is
	if !alike || !slices.EqualFunc(was.Conditions, is.Conditions, func(a, b v1.NodeCondition) bool { return a.Type == b.Type }) {
		return nil, false
	}
	status := map[string]any{}
	if order, changed := changesOfConditions(was.Conditions, is.Conditions); len(changed) > 0 {
		status["$setElementOrder/conditions"], status["conditions"] = order, changed
	}
	switch {
	case slices.Equal(was.VolumesInUse, is.VolumesInUse):
	case len(is.VolumesInUse) == 0:
		status["volumesInUse"] = nil
	default:
		status["volumesInUse"] = slices.Clone(is.VolumesInUse)
	}
	return typedpatch.Values{"status": status}, len(status) > 0
}

// changesOfConditions returns the order of conditions, which is the same in both lists, and those that have changed.
func changesOfConditions(was, is []v1.NodeCondition) (order, changed []any) {
	for i := range is {
		order = append(order, map[string]any{"type": string(is[i].Type)})
		if changes := conditionChanges(was[i], is[i]); len(changes) > 0 {
			changes["type"] = string(is[i].Type)
			changed = append(changed, changes)
		}
	}
	return order, changed
}

// conditionChanges returns the fields of a condition that have changed.
func conditionChanges(was, is v1.NodeCondition) map[string]any {
	changes := map[string]any{}
	text := func(field, was, is string) {
		if was != is {
			changes[field] = is
		}
		if was != is && is == "" {
			changes[field] = nil
		}
	}
	moment := func(field string, was, is metav1.Time) {
		if !was.Equal(&is) {
			changes[field] = is
		}
	}
	if was.Status != is.Status {
		changes["status"] = string(is.Status)
	}
	text("reason", was.Reason, is.Reason)
	text("message", was.Message, is.Message)
	moment("lastHeartbeatTime", was.LastHeartbeatTime, is.LastHeartbeatTime)
	moment("lastTransitionTime", was.LastTransitionTime, is.LastTransitionTime)
	return changes
}
