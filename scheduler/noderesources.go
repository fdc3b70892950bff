package scheduler

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// resourcesFit: the pod's requests and one more pod fit the node, and emptier
// nodes are preferred.
// Upstream: plugins/noderesources Fit with strategy LeastAllocated, v1.37.
type resourcesFit struct{}

func (resourcesFit) Name() string  { return "NodeResourcesFit" }
func (resourcesFit) Weight() int64 { return 1 }

// Upstream: noderesources/fit.go EventsToRegister, v1.37.
func (resourcesFit) EventsToRegister() []registration {
	return []registration{
		upon(deleted|updatePodScaleDown, isSchedulableAfterPodEvent),
		upon(added|updateNodeAllocatable, isSchedulableAfterCapacityChange),
	}
}

// isSchedulableAfterPodEvent: a pod leaves, or one that runs needs less of what the pod
// needs, or the pod itself does.
// Upstream: noderesources/fit.go isSchedulableAfterAssignedPodDelete, isSchedulableAfterAssignedPodScaleDown, v1.37.
func isSchedulableAfterPodEvent(pod, before, after *v1.Pod) bool {
	switch {
	case after == nil:
		return hasPlace(before)
	case after.UID == pod.UID:
		return true
	}
	return after.Spec.NodeName != "" && podRequest(after).lessThan(podRequest(before).onlyOf(podRequest(pod)))
}

// isSchedulableAfterCapacityChange: a node comes that is large enough for the pod, or one
// that is large enough has more of what the pod needs.
// Upstream: noderesources/fit.go isSchedulableAfterNodeChange, v1.37.
func isSchedulableAfterCapacityChange(pod *v1.Pod, before, after *v1.Node) bool {
	request, has := podRequest(pod), newNodeInfo(after)
	if lacks, _ := fits(request, has); len(lacks) > 0 || before == nil {
		return len(lacks) == 0
	}
	had := newNodeInfo(before)
	return has.maxPods > had.maxPods || had.allocatable.lessThan(has.allocatable.onlyOf(request))
}

func (resourcesFit) PreFilter(c *cycle) *status {
	c.request = podRequest(c.pod)
	return nil
}

func (resourcesFit) Filter(c *cycle, node *nodeInfo) *status {
	lacks, never := fits(c.request, node)
	switch {
	case len(lacks) == 0:
		return nil
	case never:
		return refuse(unresolvable, lacks...)
	}
	return refuse(unschedulable, lacks...)
}

// fits lists what the node lacks. never says that it would not even fit the
// empty node, so that evicting pods cannot help.
// Upstream: noderesources fitsRequest, v1.37.
func fits(request resources, node *nodeInfo) (lacks []string, never bool) {
	if node.pods+1 > node.maxPods {
		lacks = append(lacks, "Too many pods")
	}
	if request.asksForNothing() {
		return lacks, false
	}
	check := func(name v1.ResourceName, want, has, used int64) {
		if want > 0 && want > has-used {
			lacks = append(lacks, fmt.Sprintf("Insufficient %s", name))
			never = never || want > has
		}
	}
	check(v1.ResourceCPU, request.milliCPU, node.allocatable.milliCPU, node.requested.milliCPU)
	check(v1.ResourceMemory, request.memory, node.allocatable.memory, node.requested.memory)
	check(v1.ResourceEphemeralStorage, request.ephemeral, node.allocatable.ephemeral, node.requested.ephemeral)
	for _, name := range slices.Sorted(maps.Keys(request.scalar)) {
		check(name, request.scalar[name], node.allocatable.scalar[name], node.requested.scalar[name])
	}
	return lacks, never
}

// Score returns the mean of the free parts of CPU and memory, in percent, as far as the node
// has any.
// Upstream: noderesources leastResourceScorer, v1.37.
func (resourcesFit) Score(c *cycle, node *nodeInfo) int64 {
	var sum, n int64
	add := func(has, used int64) {
		if has == 0 {
			return
		}
		n++
		if used <= has {
			sum += (has - used) * maxNodeScore / has
		}
	}
	add(node.allocatable.milliCPU, node.requested.nonZeroCPU+c.request.nonZeroCPU)
	add(node.allocatable.memory, node.requested.nonZeroMemory+c.request.nonZeroMemory)
	if n == 0 {
		return 0
	}
	return sum / n
}

func sameList(a, b v1.ResourceList) bool {
	return maps.EqualFunc(a, b, func(x, y resource.Quantity) bool { return x.Cmp(y) == 0 })
}
