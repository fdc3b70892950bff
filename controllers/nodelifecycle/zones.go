package nodelifecycle

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/node/topology"
)

// labelNodeDisruptionExclusion excludes a node when the health of its zone is computed.
// Upstream: node_lifecycle_controller.go, v1.37.
const labelNodeDisruptionExclusion = "node.kubernetes.io/exclude-disruption"

// Rates in nodes a second at which nodes are tainted in a healthy zone and in a large unhealthy one, the size from
// which a zone is large, and the part of unhealthy nodes from which a zone is unhealthy.
// Upstream: cmd/kube-controller-manager/app/options/nodelifecyclecontroller.go
// NodeLifecycleControllerOptions.AddFlags, v1.37.
const (
	evictionLimiterQPS          = 0.1
	secondaryEvictionLimiterQPS = 0.01
	largeClusterThreshold       = 50
	unhealthyZoneThreshold      = 0.55
)

// zoneState tells how many nodes of a zone are ready.
// Upstream: node_lifecycle_controller.go ZoneState, v1.37.
type zoneState string

const (
	stateInitial           = zoneState("Initial")
	stateNormal            = zoneState("Normal")
	stateFullDisruption    = zoneState("FullDisruption")
	statePartialDisruption = zoneState("PartialDisruption")
)

// zone is a zone of the cluster, with its queue of nodes to be tainted.
type zone struct {
	state zoneState
	line
}

func zoneOf(node *v1.Node) string { return topology.GetZoneKey(node) }

// addZone adds the node's zone, if it is new.
// Upstream: node_lifecycle_controller.go addPodEvictorForNewZone, v1.37.
func (c *controller) addZone(node *v1.Node) {
	if key := zoneOf(node); c.zones[key] == nil {
		c.zones[key] = &zone{state: stateInitial, line: newLine(evictionLimiterQPS, c.env.Now())}
	}
}

// computeZoneState returns the state of a zone from its nodes' conditions Ready.
// Upstream: node_lifecycle_controller.go ComputeZoneState, v1.37.
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

// qps returns the rate at which nodes are tainted in a zone of this state and size.
// Upstream: node_lifecycle_controller.go setLimiterInZone, v1.37.
func qps(state zoneState, size int) float64 {
	switch {
	case state != statePartialDisruption:
		return evictionLimiterQPS
	case size > largeClusterThreshold:
		return secondaryEvictionLimiterQPS
	}
	return 0
}

// handleDisruption slows evictions down where many nodes are lost, and stops them when no node is left: then it is
// more likely that this controller is cut off.
// Upstream: node_lifecycle_controller.go handleDisruption, v1.37.
func (c *controller) handleDisruption(ctx context.Context, conditions map[string][]*v1.NodeCondition, nodes []*v1.Node) {
	states, allAre, allWere := map[string]zoneState{}, true, true
	for key, list := range conditions {
		states[key] = computeZoneState(list)
		allAre = allAre && states[key] == stateFullDisruption
	}
	for key := range c.zones { // in any order: each is looked at by itself
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
		for key, z := range c.zones {
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

// stopEvictions removes the taints that evict from all nodes.
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

// resetProbes restarts the time for which each node may be silent, after a time without signs of life from any node.
func (c *controller) resetProbes(now time.Time) {
	for _, health := range c.health {
		health.probe = now
	}
}
