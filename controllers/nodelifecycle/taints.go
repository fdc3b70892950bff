package nodelifecycle

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// conditionTaint is the taint of a condition with this status.
type conditionTaint struct {
	condition v1.NodeConditionType
	status    v1.ConditionStatus
	key       string
}

// Upstream: node_lifecycle_controller.go nodeConditionToTaintKeyStatusMap, v1.37.
func conditionTaints() []conditionTaint {
	return []conditionTaint{
		{v1.NodeReady, v1.ConditionFalse, v1.TaintNodeNotReady},
		{v1.NodeReady, v1.ConditionUnknown, v1.TaintNodeUnreachable},
		{v1.NodeMemoryPressure, v1.ConditionTrue, v1.TaintNodeMemoryPressure},
		{v1.NodeDiskPressure, v1.ConditionTrue, v1.TaintNodeDiskPressure},
		{v1.NodeNetworkUnavailable, v1.ConditionTrue, v1.TaintNodeNetworkUnavailable},
		{v1.NodePIDPressure, v1.ConditionTrue, v1.TaintNodePIDPressure},
	}
}

// taintsOf returns the taints that a node's conditions ask for.
func taintsOf(node *v1.Node) []v1.Taint {
	var taints []v1.Taint
	for _, condition := range node.Status.Conditions {
		for _, t := range conditionTaints() {
			if t.condition == condition.Type && t.status == condition.Status {
				taints = append(taints, v1.Taint{Key: t.key, Effect: v1.TaintEffectNoSchedule})
			}
		}
	}
	if node.Spec.Unschedulable {
		taints = append(taints, v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule})
	}
	return taints
}

// isConditionTaint reports whether the taint is one that taintsOf gives.
func isConditionTaint(taint v1.Taint) bool {
	return taint.Effect == v1.TaintEffectNoSchedule && (taint.Key == v1.TaintNodeUnschedulable ||
		slices.ContainsFunc(conditionTaints(), func(t conditionTaint) bool { return t.key == taint.Key }))
}

// without returns the taints of list that others does not have. It compares key and effect.
func without(list, others []v1.Taint) []v1.Taint {
	var rest []v1.Taint
	for _, t := range list {
		if !slices.ContainsFunc(others, func(other v1.Taint) bool { return t.MatchTaint(&other) }) {
			rest = append(rest, t)
		}
	}
	return rest
}
