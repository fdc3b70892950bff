package nodestatus

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
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
	dropEqual(&from.ObjectMeta, &to.ObjectMeta)
	dropEqual(&from.Status, &to.Status)
	if patch, ok := patchOfConditions(from, to); ok {
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

// patchOfConditions returns the patch that the library would make of two nodes, if only texts and
// times of conditions differ, as in nearly every heartbeat. The library compares both nodes in
// JSON, which takes far longer.
func patchOfConditions(from, to *v1.Node) (patch typedpatch.Values, ok bool) {
	was, is := from.Status.Conditions, to.Status.Conditions
	from.Status.Conditions, to.Status.Conditions = nil, nil
	alike := semantic.Equal(from.ObjectMeta, to.ObjectMeta) && semantic.Equal(from.Status, to.Status)
	from.Status.Conditions, to.Status.Conditions = was, is
	if !alike || !slices.EqualFunc(was, is, func(a, b v1.NodeCondition) bool { return a.Type == b.Type }) {
		return nil, false
	}
	var order, changed []any
	for i := range is {
		order = append(order, map[string]any{"type": string(is[i].Type)})
		if changes := conditionChanges(was[i], is[i]); len(changes) > 0 {
			changes["type"] = string(is[i].Type)
			changed = append(changed, changes)
		}
	}
	return typedpatch.Values{"status": map[string]any{"$setElementOrder/conditions": order, "conditions": changed}}, len(changed) > 0
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

// dropEqual empties the fields that are the same in both. Converting them to JSON would be most of
// the cost of the patch.
func dropEqual[T any](a, b *T) {
	x, y := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for i := range x.NumField() {
		if reflect.DeepEqual(x.Field(i).Addr().Interface(), y.Field(i).Addr().Interface()) {
			x.Field(i).SetZero()
			y.Field(i).SetZero()
		}
	}
}
