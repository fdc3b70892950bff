package scheduler

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podresource "k8s.io/component-helpers/resource"
)

// What a pod counts for in scoring when it asks for nothing.
// Upstream: scheduler/util DefaultMilliCPURequest, DefaultMemoryRequest.
const (
	defaultMilliCPU = 100
	defaultMemory   = 200 * 1024 * 1024
)

// resources are amounts: CPU in thousandths, everything else in units.
type resources struct {
	milliCPU, memory, ephemeral int64
	scalar                      map[v1.ResourceName]int64
	// nonZeroCPU and nonZeroMemory count pods that ask for nothing at the
	// defaults, so that they still spread.
	nonZeroCPU, nonZeroMemory int64
}

func resourcesOf(list v1.ResourceList) resources {
	var r resources
	for name, q := range list { // each is put where it belongs: the order does not matter
		switch name {
		case v1.ResourceCPU:
			r.milliCPU = q.MilliValue()
		case v1.ResourceMemory:
			r.memory = q.Value()
		case v1.ResourceEphemeralStorage:
			r.ephemeral = q.Value()
		case v1.ResourcePods:
		default:
			if r.scalar == nil {
				r.scalar = map[v1.ResourceName]int64{}
			}
			r.scalar[name] = q.Value()
		}
	}
	return r
}

// add adds other times sign.
func (r *resources) add(other resources, sign int64) {
	r.milliCPU += sign * other.milliCPU
	r.memory += sign * other.memory
	r.ephemeral += sign * other.ephemeral
	r.nonZeroCPU += sign * other.nonZeroCPU
	r.nonZeroMemory += sign * other.nonZeroMemory
	for name, n := range other.scalar { // a sum: the order does not matter
		if r.scalar == nil {
			r.scalar = map[v1.ResourceName]int64{}
		}
		r.scalar[name] += sign * n
	}
}

// lessThan: of some resource it is less.
func (r resources) lessThan(other resources) bool {
	for name, n := range other.scalar { // a question of whether, not of which
		if r.scalar[name] < n {
			return true
		}
	}
	return r.milliCPU < other.milliCPU || r.memory < other.memory || r.ephemeral < other.ephemeral
}

// onlyOf returns r without the resources that the request does not name.
func (r resources) onlyOf(request resources) resources {
	var left resources
	for _, resource := range []struct{ to, from, wanted *int64 }{
		{&left.milliCPU, &r.milliCPU, &request.milliCPU}, {&left.memory, &r.memory, &request.memory}, {&left.ephemeral, &r.ephemeral, &request.ephemeral},
	} {
		if *resource.wanted > 0 {
			*resource.to = *resource.from
		}
	}
	left.scalar = map[v1.ResourceName]int64{}
	for name, n := range request.scalar { // a map again: the order does not matter
		if n > 0 {
			left.scalar[name] = r.scalar[name]
		}
	}
	return left
}

func (r resources) asksForNothing() bool {
	return r.milliCPU == 0 && r.memory == 0 && r.ephemeral == 0 && len(r.scalar) == 0
}

// podRequest returns what the pod needs at its peak: the containers and the sidecars together, or an init container beside the sidecars started before it,
// whichever is more, and the overhead. While a pod is resized it counts for the most of three: what its spec asks for, what its node has allocated and
// what its containers have. If the node says that it can never do the resize, the spec does not count.
// Upstream: framework/types.go CalculateResource, v1.37.
func podRequest(pod *v1.Pod) resources {
	if isPlain(pod) { // as most pods
		return plainRequest(pod)
	}
	return peakRequest(pod)
}

// plainRequest returns the same as podRequest, for a pod that is plain. Several containers that name no resource ask for nothing.
func plainRequest(pod *v1.Pod) (r resources) {
	for _, c := range pod.Spec.Containers {
		one := resourcesOf(c.Resources.Requests)
		one.nonZeroCPU, one.nonZeroMemory = one.milliCPU, one.memory
		if _, named := c.Resources.Requests[v1.ResourceCPU]; !named {
			one.nonZeroCPU = defaultMilliCPU
		}
		if _, named := c.Resources.Requests[v1.ResourceMemory]; !named {
			one.nonZeroMemory = defaultMemory
		}
		r.add(one, 1)
	}
	return r
}

// peakRequest returns the same as podRequest, for every pod by the library.
func peakRequest(pod *v1.Pod) resources {
	options := podresource.PodResourcesOptions{UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: true}
	r := resourcesOf(podresource.PodRequests(pod, options))
	options.NonMissingContainerRequests = v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(defaultMilliCPU, resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(defaultMemory, resource.BinarySI)}
	least := resourcesOf(podresource.PodRequests(pod, options))
	r.nonZeroCPU, r.nonZeroMemory = least.milliCPU, least.memory
	return r
}

// isPlain reports whether the pod needs what its one container names, or what several that name nothing do: no container runs before them, nothing is
// asked for the pod as a whole, and what its status tells of the containers agrees. Of several that name amounts the library adds up fractions.
func isPlain(pod *v1.Pod) bool {
	if len(pod.Spec.InitContainers) > 0 || len(pod.Spec.Overhead) > 0 || pod.Spec.Resources != nil ||
		pod.Status.Resources != nil || len(pod.Status.AllocatedResources) > 0 {
		return false
	}
	for _, c := range pod.Spec.Containers {
		if len(c.Resources.Requests) > 0 && len(pod.Spec.Containers) > 1 {
			return false
		}
	}
	return !slices.ContainsFunc(pod.Status.ContainerStatuses, func(s v1.ContainerStatus) bool { return !agrees(pod.Spec.Containers, s) })
}

// agrees reports whether a status tells the same of the resources of its container as the spec asks for.
func agrees(containers []v1.Container, s v1.ContainerStatus) bool {
	if s.Resources == nil && len(s.AllocatedResources) == 0 {
		return true
	}
	at := slices.IndexFunc(containers, func(c v1.Container) bool { return c.Name == s.Name })
	if at < 0 {
		return false
	}
	asked := containers[at].Resources.Requests
	return (s.Resources == nil || sameList(s.Resources.Requests, asked)) && (len(s.AllocatedResources) == 0 || sameList(s.AllocatedResources, asked))
}
