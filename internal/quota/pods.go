package quota

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-helpers/resource"
)

// podNames are the entries of spec.hard that count pods, and what their containers ask for.
// Upstream: quota/v1/evaluator/core podResources, v1.37.
var podNames = []v1.ResourceName{
	CountName(schema.GroupResource{Resource: "pods"}), v1.ResourcePods, v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage,
	v1.ResourceRequestsCPU, v1.ResourceRequestsMemory, v1.ResourceRequestsEphemeralStorage,
	v1.ResourceLimitsCPU, v1.ResourceLimitsMemory, v1.ResourceLimitsEphemeralStorage,
}

// mustSpecify are the entries of spec.hard for which each container must say what it asks for.
// Upstream: quota/v1/evaluator/core validationSet, v1.37.
var mustSpecify = []v1.ResourceName{
	v1.ResourceCPU, v1.ResourceMemory, v1.ResourceRequestsCPU, v1.ResourceRequestsMemory, v1.ResourceLimitsCPU, v1.ResourceLimitsMemory,
}

// pods returns the evaluator of pods.
// Upstream: quota/v1/evaluator/core pods.go, v1.37.
func pods() Evaluator {
	return Evaluator{
		counts: func(name v1.ResourceName) bool {
			return slices.Contains(podNames, name) || strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix) ||
				strings.HasPrefix(string(name), v1.ResourceRequestsHugePagesPrefix) || isDevice(name)
		},
		usage: func(obj runtime.Object, now time.Time) v1.ResourceList { return podUsage(obj.(*v1.Pod), now) },
		inScope: func(scope v1.ScopedResourceSelectorRequirement, obj runtime.Object) bool {
			return podInScope(scope, obj.(*v1.Pod))
		},
		concerns: func(sub string, obj, old runtime.Object) bool {
			return sub == "resize" || sub == "" && isTerminating(obj.(*v1.Pod)) != isTerminating(old.(*v1.Pod))
		},
		lacks: func(names []v1.ResourceName, obj runtime.Object) string { return podLacks(names, obj.(*v1.Pod)) },
	}
}

// isDevice reports whether an entry of spec.hard counts requests for devices and the like: requests.example.com/gpu.
// Upstream: quota/v1/evaluator/core isExtendedResourceNameForQuota, v1.37.
func isDevice(name v1.ResourceName) bool {
	device, asked := strings.CutPrefix(string(name), v1.DefaultResourceRequestsPrefix)
	own := strings.Contains(string(name), "/") && !strings.Contains(string(name), v1.ResourceDefaultNamespacePrefix)
	return asked && (own || strings.HasPrefix(device, resourcev1.ResourceDeviceClassPrefix))
}

// podUsage returns what a pod takes. One that has ended, or should have ended by now, is still an object.
// Upstream: quota/v1/evaluator/core PodUsageFunc, v1.37.
func podUsage(pod *v1.Pod, now time.Time) v1.ResourceList {
	list := v1.ResourceList{podNames[0]: one()}
	if !isCharged(pod, now) {
		return list
	}
	options := resource.PodResourcesOptions{UseStatusResources: true}
	return Add(list, computeUsage(resource.PodRequests(pod, options), resource.PodLimits(pod, options)))
}

// computeUsage returns what requests and limits take.
// Upstream: quota/v1/evaluator/core podComputeUsageHelper, v1.37.
func computeUsage(requests, limits v1.ResourceList) v1.ResourceList {
	list := v1.ResourceList{v1.ResourcePods: one()}
	for name, q := range requests {
		asked := v1.DefaultResourceRequestsPrefix + name
		switch {
		case name == v1.ResourceCPU, name == v1.ResourceMemory, name == v1.ResourceEphemeralStorage, strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix):
			list[name], list[asked] = q, q
		case isDevice(asked):
			list[asked] = q
		}
	}
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage} {
		if q, found := limits[name]; found {
			list["limits."+name] = q
		}
	}
	return list
}

// isCharged reports whether a pod still takes what its containers ask for.
// Upstream: quota/v1/evaluator/core QuotaV1Pod, v1.37.
func isCharged(pod *v1.Pod, now time.Time) bool {
	if pod.Status.Phase == v1.PodFailed || pod.Status.Phase == v1.PodSucceeded {
		return false
	}
	if pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds == nil {
		return true
	}
	return !now.After(pod.DeletionTimestamp.Add(time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second))
}

// isTerminating reports whether a pod has a deadline.
// Upstream: quota/v1/evaluator/core IsTerminating, v1.37.
func isTerminating(pod *v1.Pod) bool {
	return pod.Spec.ActiveDeadlineSeconds != nil && *pod.Spec.ActiveDeadlineSeconds >= 0
}

// podInScope reports whether a pod is in a scope.
// Upstream: quota/v1/evaluator/core podMatchesScopeFunc, v1.37.
func podInScope(scope v1.ScopedResourceSelectorRequirement, pod *v1.Pod) bool {
	switch scope.ScopeName {
	case v1.ResourceQuotaScopeTerminating:
		return isTerminating(pod)
	case v1.ResourceQuotaScopeNotTerminating:
		return !isTerminating(pod)
	case v1.ResourceQuotaScopeBestEffort:
		return pod.Status.QOSClass == v1.PodQOSBestEffort
	case v1.ResourceQuotaScopeNotBestEffort:
		return pod.Status.QOSClass != v1.PodQOSBestEffort
	case v1.ResourceQuotaScopePriorityClass:
		var classes []string
		if pod.Spec.PriorityClassName != "" {
			classes = append(classes, pod.Spec.PriorityClassName)
		}
		return among(scope, classes)
	case v1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return looksAcrossNamespaces(pod)
	}
	return false
}

// looksAcrossNamespaces reports whether a pod's affinity is about pods of other namespaces.
// Upstream: quota/v1/evaluator/core usesCrossNamespacePodAffinity, v1.37.
func looksAcrossNamespaces(pod *v1.Pod) bool {
	if pod.Spec.Affinity == nil {
		return false
	}
	var terms []v1.PodAffinityTerm
	var weighted []v1.WeightedPodAffinityTerm
	if a := pod.Spec.Affinity.PodAffinity; a != nil {
		terms, weighted = append(terms, a.RequiredDuringSchedulingIgnoredDuringExecution...), append(weighted, a.PreferredDuringSchedulingIgnoredDuringExecution...)
	}
	if a := pod.Spec.Affinity.PodAntiAffinity; a != nil {
		terms, weighted = append(terms, a.RequiredDuringSchedulingIgnoredDuringExecution...), append(weighted, a.PreferredDuringSchedulingIgnoredDuringExecution...)
	}
	for i := range weighted {
		terms = append(terms, weighted[i].PodAffinityTerm)
	}
	return slices.ContainsFunc(terms, func(term v1.PodAffinityTerm) bool { return len(term.Namespaces) > 0 || term.NamespaceSelector != nil })
}

// podLacks says which containers of a pod do not say what they ask for.
// Upstream: quota/v1/evaluator/core podEvaluator.Constraints, v1.37.
func podLacks(names []v1.ResourceName, pod *v1.Pod) string {
	if resource.IsPodLevelResourcesSet(pod) {
		return ""
	}
	var missing []string
	for _, name := range names {
		if !slices.Contains(mustSpecify, name) {
			continue
		}
		var without []string
		for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
			if _, found := computeUsage(c.Resources.Requests, c.Resources.Limits)[name]; !found {
				without = append(without, c.Name)
			}
		}
		if len(without) > 0 {
			slices.Sort(without)
			missing = append(missing, string(name)+" for: "+strings.Join(without, ","))
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return "must specify " + strings.Join(missing, "; ")
}
