// Package podstatus patches the status of pods that a controller ends in place of their
// kubelet.
package podstatus

import (
	"context"
	"encoding/json"

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

// has reports whether the pod has the condition already, whenever it came.
func has(pod *v1.Pod, want *v1.PodCondition) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == want.Type {
			return c.Status == want.Status && c.Reason == want.Reason && c.Message == want.Message
		}
	}
	return false
}
