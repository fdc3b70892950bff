// Package podstatus reads and patches the status of pods. Controllers that end pods in place of their kubelet call Patch; kubelets and the
// scheduler take from it how a patch lists conditions.
package podstatus

import (
	"context"
	"encoding/json"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// Change describes a change of a pod's status.
type Change struct {
	// Phase is the new phase; "" leaves it as it is.
	Phase v1.PodPhase
	// Condition is added, or replaces the one of its type; nil adds none. Its time of
	// transition is set.
	Condition *v1.PodCondition
}

// Patch changes the status of a pod, unless there is another pod of that name by now. A
// change that changes nothing is not sent.
//
// Upstream: pkg/util/pod PatchPodStatus, v1.37.
func Patch(ctx context.Context, client kubernetes.Interface, pod *v1.Pod, change Change, now metav1.Time) error {
	status := map[string]any{}
	if change.Phase != "" {
		status["phase"], status["observedGeneration"] = change.Phase, pod.Generation
	}
	if change.Condition != nil && !has(pod, change.Condition) {
		condition := *change.Condition
		condition.LastTransitionTime, condition.ObservedGeneration = now, pod.Generation
		status["conditions"], status["$setElementOrder/conditions"] = []v1.PodCondition{condition}, order(pod, condition.Type)
	}
	if len(status) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": status})
	if err == nil {
		_, err = client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	}
	return err
}

// ConditionPatch returns a condition as an item of a strategic merge patch. It is merged into the old one field by field, so that
// what is gone is null.
func ConditionPatch(c v1.PodCondition) map[string]any {
	return map[string]any{
		"type": string(c.Type), "status": string(c.Status), "observedGeneration": orNull(c.ObservedGeneration),
		"lastProbeTime": timeOrNull(c.LastProbeTime), "lastTransitionTime": timeOrNull(c.LastTransitionTime),
		"reason": orNull(c.Reason), "message": orNull(c.Message),
	}
}

// ConditionOrder returns the order of conditions as a strategic merge patch has it, in $setElementOrder/conditions.
func ConditionOrder(conditions []v1.PodCondition) []any {
	order := make([]any, len(conditions))
	for i := range order {
		order[i] = map[string]any{"type": string(conditions[i].Type)}
	}
	return order
}

func orNull[T comparable](value T) any {
	if value == *new(T) {
		return nil
	}
	return value
}

// timeOrNull returns a time as the API keeps it, in whole seconds.
func timeOrNull(t metav1.Time) any {
	if t.IsZero() {
		return nil
	}
	return metav1.NewTime(t.Truncate(time.Second))
}

// order puts a new condition last: a strategic merge patch would put it first.
func order(pod *v1.Pod, added v1.PodConditionType) []map[string]any {
	var list []map[string]any
	found := false
	for _, c := range pod.Status.Conditions {
		list = append(list, map[string]any{"type": c.Type})
		found = found || c.Type == added
	}
	if !found {
		list = append(list, map[string]any{"type": added})
	}
	return list
}

// has reports whether the pod has the condition with this status, reason and message, whatever its times are.
func has(pod *v1.Pod, want *v1.PodCondition) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == want.Type {
			return c.Status == want.Status && c.Reason == want.Reason && c.Message == want.Message
		}
	}
	return false
}
