package scheduler

import (
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// notScored is the score of a node that lacks a label of the pod's own constraints.
// Upstream: podtopologyspread/scoring.go invalidScore, v1.37.
const notScored = -1

// PreScore counts the matching pods of each domain that a feasible node is in. A domain that
// is a node is counted by Score.
// Upstream: podtopologyspread/scoring.go PreScore, initPreScoreState, v1.37.
func (p topologySpread) PreScore(c *cycle, feasible []*nodeInfo) *status {
	constraints, err := p.constraintsOf(c.pod, v1.ScheduleAnyway)
	switch {
	case err != nil:
		return asStatus(err)
	case len(constraints) == 0:
		return refuse(skip)
	}
	c.spreadScore, c.ownSpread = constraints, len(c.pod.Spec.TopologySpreadConstraints) > 0
	qualified := feasible
	if c.ownSpread {
		qualified = slices.DeleteFunc(slices.Clone(feasible), func(n *nodeInfo) bool { return !hasTopologies(n.node, constraints) })
	}
	for _, constraint := range constraints {
		domains := len(qualified)
		if constraint.key != v1.LabelHostname {
			domains = p.countDomains(c, constraint, qualified)
		}
		constraint.weight = math.Log(float64(domains + 2))
	}
	return nil
}

// countDomains sets constraint.counts to the number of matching pods in each domain of the qualified nodes, and returns the number of domains.
func (p topologySpread) countDomains(c *cycle, constraint *spreadConstraint, qualified []*nodeInfo) (domains int) {
	constraint.counts = map[string]int{}
	for _, node := range qualified {
		constraint.counts[node.node.Labels[constraint.key]] = 0
	}
	for _, node := range p.cluster.nodes {
		domain, ok := node.node.Labels[constraint.key]
		if !ok || c.ownSpread && !hasTopologies(node.node, c.spreadScore) || !constraint.includes(c.pod, node) {
			continue
		}
		if n, counts := constraint.counts[domain]; counts {
			constraint.counts[domain] = n + constraint.matching(node, c.pod.Namespace)
		}
	}
	return len(constraint.counts)
}

// Score returns the number of matching pods the node's domains have; fewer are better.
// Upstream: podtopologyspread/scoring.go Score, scoreForCount, v1.37.
func (topologySpread) Score(c *cycle, node *nodeInfo) int64 {
	if c.ownSpread && !hasTopologies(node.node, c.spreadScore) {
		return notScored
	}
	var score float64
	for _, constraint := range c.spreadScore {
		domain, ok := node.node.Labels[constraint.key]
		if !ok {
			continue
		}
		n := constraint.counts[domain]
		if constraint.key == v1.LabelHostname {
			n = constraint.matching(node, c.pod.Namespace)
		}
		score += float64(float64(n)*constraint.weight) + float64(constraint.maxSkew-1)
	}
	return int64(math.Round(score))
}

// NormalizeScore turns the scores round: the domain with the fewest pods is best.
// Upstream: podtopologyspread/scoring.go NormalizeScore, v1.37.
func (topologySpread) NormalizeScore(scores []int64) {
	least, most := int64(math.MaxInt64), int64(0)
	for _, score := range scores {
		if score != notScored {
			least, most = min(least, score), max(most, score)
		}
	}
	for i, score := range scores {
		switch {
		case score == notScored:
			scores[i] = 0
		case most == 0:
			scores[i] = maxNodeScore
		default:
			scores[i] = maxNodeScore * (most + least - score) / most
		}
	}
}
