package nodelifecycle

import (
	"context"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/node/topology"
)

// labelNodeDisruptionExclusion has a node not count when the health of its zone is judged.
// Upstream: node_lifecycle_controller.go, v1.36.
const labelNodeDisruptionExclusion = "node.kubernetes.io/exclude-disruption"

// How many nodes a second are tainted in a zone that is well, and in a large one that is
// not; from how many nodes on a zone is large, and from which part of unhealthy nodes on it
// is not well.
// Upstream: cmd/kube-controller-manager NodeEvictionRate, SecondaryNodeEvictionRate,
// LargeClusterSizeThreshold and UnhealthyZoneThreshold, v1.36.
const (
	evictionLimiterQPS          = 0.1
	secondaryEvictionLimiterQPS = 0.01
	largeClusterThreshold       = 50
	unhealthyZoneThreshold      = 0.55
)

// zoneState says how many nodes of a zone are ready.
// Upstream: node_lifecycle_controller.go ZoneState, v1.36.
type zoneState string

const (
	stateInitial           = zoneState("Initial")
	stateNormal            = zoneState("Normal")
	stateFullDisruption    = zoneState("FullDisruption")
	statePartialDisruption = zoneState("PartialDisruption")
)

// zone is a zone of the cluster, with its line of nodes to be tainted.
type zone struct {
	state zoneState
	line
}

func zoneOf(node *v1.Node) string { return topology.GetZoneKey(node) }

// addZone makes the node's zone known.
// Upstream: node_lifecycle_controller.go addPodEvictorForNewZone, v1.36.
func (c *controller) addZone(node *v1.Node) {
	if key := zoneOf(node); c.zones[key] == nil {
		c.zones[key] = &zone{state: stateInitial, line: newLine(evictionLimiterQPS, c.env.Now())}
	}
}

// computeZoneState judges a zone by its nodes' conditions Ready.
// Upstream: node_lifecycle_controller.go ComputeZoneState, v1.36.
func computeZoneState(conditions []*v1.NodeCondition) zoneState {
	ready := 0
	for _, c := range conditions {
		if c != nil && c.Status == v1.ConditionTrue {
			ready++
		}
	}
	notReady := len(conditions) - ready
	switch {
	case ready == 0 && notReady > 0:
		return stateFullDisruption
	case notReady > 2 && float32(notReady)/float32(len(conditions)) >= unhealthyZoneThreshold:
		return statePartialDisruption
	}
	return stateNormal
}

// qps returns the number of nodes a second may be tainted in a zone of that state and size.
// Upstream: node_lifecycle_controller.go setLimiterInZone, v1.36.
func qps(state zoneState, size int) float64 {
	switch {
	case state != statePartialDisruption:
		return evictionLimiterQPS
	case size > largeClusterThreshold:
		return secondaryEvictionLimiterQPS
	}
	return 0
}

// handleDisruption slows evictions down where many nodes are lost, and stops them when no
// node is left: then it is more likely that this controller is cut off.
// Upstream: node_lifecycle_controller.go handleDisruption, v1.36.
func (c *controller) handleDisruption(ctx context.Context, conditions map[string][]*v1.NodeCondition, nodes []*v1.Node) {
	states, allAre, allWere := map[string]zoneState{}, true, true
	for key, list := range conditions {
		states[key] = computeZoneState(list)
		allAre = allAre && states[key] == stateFullDisruption
	}
	for _, key := range slices.Sorted(maps.Keys(c.zones)) {
		if _, have := conditions[key]; !have {
			delete(c.zones, key)
			continue
		}
		allWere = allWere && c.zones[key].state == stateFullDisruption
	}
	switch {
	case allAre && allWere:
	case allAre:
		c.stopEvictions(ctx, nodes)
	default:
		now := c.env.Now()
		for _, key := range slices.Sorted(maps.Keys(c.zones)) {
			z := c.zones[key]
			if allWere || z.state != states[key] {
				z.swapLimiter(qps(states[key], len(conditions[key])), now)
				z.state = states[key]
			}
		}
		if allWere {
			c.resetProbes(now)
		}
	}
}

// stopEvictions frees all nodes of the taints that evict.
func (c *controller) stopEvictions(ctx context.Context, nodes []*v1.Node) {
	for _, node := range nodes {
		if live, found := c.nodes.Get(node.Name); found {
			node = live
		}
		c.markNodeAsReachable(ctx, node)
	}
	for _, z := range c.zones {
		z.swapLimiter(0, c.env.Now())
		z.state = stateFullDisruption
	}
}

// resetProbes gives all nodes time again, after a time in which none was heard of.
func (c *controller) resetProbes(now time.Time) {
	for _, health := range c.health {
		health.probe = now
	}
}
