package admission

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	"github.com/storagesim/storagesim/api/internal/refusal"
)

// systemPriorities are the classes that every cluster has from its start.
var systemPriorities = map[string]int32{
	"system-cluster-critical": 2_000_000_000,
	"system-node-critical":    2_000_001_000,
}

// admitPriority resolves the pod's priority class to a number. A pod may repeat
// the number but not contradict it.
// Upstream: plugin/pkg/admission/priority admitPod, v1.37.
func admitPriority(r Reader, pod *v1.Pod) error {
	priority, policy := int32(0), v1.PreemptLowerPriority
	class := defaultPriority(r)
	if name := pod.Spec.PriorityClassName; name != "" {
		class = get[*schedulingv1.PriorityClass](r, priorityClasses, name)
		value, system := systemPriorities[name]
		if class == nil && !system {
			return refusal.Forbidden(v1.Resource("pods"), pod.Name, fmt.Sprintf("no PriorityClass with name %v was found", name))
		}
		priority = value
	}
	if class != nil {
		pod.Spec.PriorityClassName = class.Name
		priority = class.Value
		if class.PreemptionPolicy != nil {
			policy = *class.PreemptionPolicy
		}
	}
	if said := pod.Spec.Priority; said != nil && *said != priority {
		return refusal.Forbidden(v1.Resource("pods"), pod.Name, fmt.Sprintf("the integer value of priority (%d) must not be provided in pod spec; "+
			"priority admission controller computed %d from the given PriorityClass name", *said, priority))
	}
	if said := pod.Spec.PreemptionPolicy; said != nil && *said != policy {
		return refusal.Forbidden(v1.Resource("pods"), pod.Name, fmt.Sprintf("the string value of PreemptionPolicy (%s) must not be provided in pod spec; "+
			"priority admission controller computed %s from the given PriorityClass name", *said, policy))
	}
	pod.Spec.Priority, pod.Spec.PreemptionPolicy = &priority, &policy
	return nil
}

// defaultPriority returns the class for pods that name none: of those marked as
// default, the one with the lowest value.
func defaultPriority(r Reader) *schedulingv1.PriorityClass {
	var best *schedulingv1.PriorityClass
	for _, class := range list[*schedulingv1.PriorityClass](r, priorityClasses, "") {
		if class.GlobalDefault && (best == nil || class.Value < best.Value) {
			best = class
		}
	}
	return best
}
