package strategy

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/resource"

	"github.com/storagesim/storagesim/api/internal/containers"
)

// newPodStatus returns the status of a new pod, before any controller has seen it.
// Its quality of service is class, or, if that is empty, computed from the spec.
func newPodStatus(spec *v1.PodSpec, class v1.PodQOSClass, now metav1.Time) v1.PodStatus {
	status := v1.PodStatus{Phase: v1.PodPending, QOSClass: class}
	if class == "" {
		status.QOSClass = PodQOS(spec)
	}
	if len(spec.SchedulingGates) > 0 {
		status.Conditions = []v1.PodCondition{{
			Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: v1.PodReasonSchedulingGated, LastTransitionTime: now,
			Message: "Scheduling is blocked due to non-empty scheduling gates",
		}}
	}
	return status
}

// PodQOS returns the pod's quality of service: BestEffort if it has neither requests nor limits, Guaranteed if each container
// requests exactly its limits, else Burstable. Only CPU and memory count. The resources of the pod itself, if set, take the place
// of its containers'.
// Upstream: core/helper/qos ComputePodQOS, v1.37.
func PodQOS(spec *v1.PodSpec) v1.PodQOSClass {
	if resource.IsPodLevelResourcesSet(&v1.Pod{Spec: *spec}) {
		return qosOf(spec.Resources)
	}
	class, first := v1.PodQOSBestEffort, true
	for _, group := range containers.Groups(spec) {
		for i := range group.Containers {
			switch own := qosOf(&group.Containers[i].Resources); {
			case first:
				class = own
			case own != class:
				class = v1.PodQOSBurstable
			}
			first = false
		}
	}
	return class
}

// qosOf returns the quality of service of a container, or of a pod, with these resources.
// Upstream: pkg/apis/core/helper/qos requirementsQOS, v1.37.2.
func qosOf(r *v1.ResourceRequirements) v1.PodQOSClass {
	class := qosOfOne(r, v1.ResourceCPU)
	if class != qosOfOne(r, v1.ResourceMemory) {
		return v1.PodQOSBurstable
	}
	return class
}

// qosOfOne returns the quality of service that one resource makes.
// Upstream: pkg/apis/core/helper/qos resourceQOS, v1.37.2.
func qosOfOne(r *v1.ResourceRequirements, name v1.ResourceName) v1.PodQOSClass {
	request, limit := r.Requests[name], r.Limits[name]
	switch {
	case request.Cmp(limit) != 0:
		return v1.PodQOSBurstable
	case request.IsZero():
		return v1.PodQOSBestEffort
	}
	return v1.PodQOSGuaranteed
}

// KeepPodResources keeps the resources of a pod as a whole in an update that does not have them: the client may not know them.
// Upstream: registry/core/pod podStrategy.PrepareForUpdate, v1.37.
func KeepPodResources(spec, old *v1.PodSpec) {
	if spec.Resources == nil {
		spec.Resources = old.Resources.DeepCopy()
	}
}
