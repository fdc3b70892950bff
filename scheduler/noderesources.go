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
// Upstream: plugins/noderesources Fit with strategy LeastAllocated, v1.36.
type resourcesFit struct{}

func (resourcesFit) Name() string  { return "NodeResourcesFit" }
func (resourcesFit) Weight() int64 { return 1 }

func (resourcesFit) Helps(_ *v1.Pod, e clusterEvent) bool {
	return e.podLeft() || e.nodeChanged(func(old, node *v1.Node) bool {
		return !sameList(old.Status.Allocatable, node.Status.Allocatable)
	})
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
// Upstream: noderesources fitsRequest, v1.36.
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

// Score is the mean of the free parts of CPU and memory, in percent.
// Upstream: noderesources leastResourceScorer, v1.36.
func (resourcesFit) Score(c *cycle, node *nodeInfo) int64 {
	free := func(has, used int64) int64 {
		if has == 0 || used > has {
			return 0
		}
		return (has - used) * maxNodeScore / has
	}
	cpu := free(node.allocatable.milliCPU, node.requested.nonZeroCPU+c.request.nonZeroCPU)
	memory := free(node.allocatable.memory, node.requested.nonZeroMemory+c.request.nonZeroMemory)
	return (cpu + memory) / 2
}

func sameList(a, b v1.ResourceList) bool {
	return maps.EqualFunc(a, b, func(x, y resource.Quantity) bool { return x.Cmp(y) == 0 })
}
