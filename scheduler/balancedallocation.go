package scheduler

import "math"

// balancedAllocation prefers nodes whose CPU and memory the pod makes more evenly used.
// Upstream: plugins/noderesources/balanced_allocation.go, v1.37.
type balancedAllocation struct{}

func (balancedAllocation) Name() string  { return "NodeResourcesBalancedAllocation" }
func (balancedAllocation) Weight() int64 { return 1 }

// EventsToRegister returns nil: the plugin refuses no pod.
func (balancedAllocation) EventsToRegister() []registration { return nil }

// PreScore: a pod that asks for neither balances nothing.
func (balancedAllocation) PreScore(c *cycle, _ []*nodeInfo) *status {
	if c.request.milliCPU == 0 && c.request.memory == 0 {
		return refuse(skip)
	}
	return nil
}

// Score returns 75 where the pod changes nothing, towards 100 where it evens out the use, and
// towards 50 where it makes it less even.
// Upstream: balancedResourceScorer, v1.37.
func (balancedAllocation) Score(c *cycle, node *nodeInfo) int64 {
	used := node.requested
	with := balance(used.milliCPU+c.request.milliCPU, node.allocatable.milliCPU, used.memory+c.request.memory, node.allocatable.memory)
	without := balance(used.milliCPU, node.allocatable.milliCPU, used.memory, node.allocatable.memory)
	return maxNodeScore/2 + (maxNodeScore/2+with-without)/2
}

// balance returns maxNodeScore for a node of which the same part of CPU and memory is used, or
// that lacks one of them.
// Upstream: balancedResourceScore, v1.37.
func balance(cpu, allCPU, memory, allMemory int64) int64 {
	if allCPU == 0 || allMemory == 0 {
		return maxNodeScore
	}
	part := func(used, all int64) float64 { return min(float64(used)/float64(all), 1) }
	return int64((1 - math.Abs(part(cpu, allCPU)-part(memory, allMemory))/2) * maxNodeScore)
}
