package scheduler

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/storagesim/storagesim/internal/semantic"
)

// Upstream: podtopologyspread/plugin.go EventsToRegister, v1.37.
func (p topologySpread) EventsToRegister() []registration {
	return []registration{
		upon(added|updated|updatePodToleration|deleted, p.isSchedulableAfterPodChange),
		upon(added|deleted|updateNodeLabel|updateNodeTaint, p.isSchedulableAfterNodeChange),
	}
}

// isSchedulableAfterPodChange: a pod that a constraint is about comes or goes, begins or ceases
// to match, or the pod tolerates a taint that counts.
// Upstream: podtopologyspread/plugin.go isSchedulableAfterAssignedPodChange and isSchedulableAfterTargetPodChange, v1.37.
func (p topologySpread) isSchedulableAfterPodChange(pod, before, after *v1.Pod) bool {
	for _, other := range []*v1.Pod{before, after} {
		if other != nil && other.UID != pod.UID && (!hasPlace(other) || other.Namespace != pod.Namespace) {
			return false
		}
	}
	constraints, err := p.constraintsOf(pod, v1.DoNotSchedule)
	if err != nil {
		return true
	}
	matches := func(c *spreadConstraint, pod *v1.Pod) bool {
		return pod != nil && c.selector.Matches(labels.Set(pod.Labels))
	}
	if before == nil || after == nil {
		return slices.ContainsFunc(constraints, func(c *spreadConstraint) bool { return matches(c, before) || matches(c, after) })
	}
	if after.UID == pod.UID && !semantic.Equal(before.Spec.Tolerations, after.Spec.Tolerations) &&
		slices.ContainsFunc(constraints, func(c *spreadConstraint) bool { return c.honorTaints }) {
		return true
	}
	return !maps.Equal(before.Labels, after.Labels) &&
		slices.ContainsFunc(constraints, func(c *spreadConstraint) bool { return matches(c, before) != matches(c, after) })
}

// isSchedulableAfterNodeChange: a node with all the topologies comes or goes, or changes in
// one of them or in its taints.
// Upstream: podtopologyspread/plugin.go isSchedulableAfterNodeChange, v1.37.
func (p topologySpread) isSchedulableAfterNodeChange(pod *v1.Pod, before, after *v1.Node) bool {
	constraints, err := p.constraintsOf(pod, v1.DoNotSchedule)
	if err != nil {
		return true
	}
	had := before != nil && hasTopologies(before, constraints)
	has := after != nil && hasTopologies(after, constraints)
	if before == nil || after == nil || had != has {
		return had || has
	}
	moved := func(c *spreadConstraint) bool { return before.Labels[c.key] != after.Labels[c.key] }
	return has && (slices.ContainsFunc(constraints, moved) || !semantic.Equal(before.Spec.Taints, after.Spec.Taints))
}

// PreFilter counts the matching pods of each domain.
// Upstream: podtopologyspread/filtering.go calPreFilterState, v1.37.
func (p topologySpread) PreFilter(c *cycle) *status {
	constraints, err := p.constraintsOf(c.pod, v1.DoNotSchedule)
	switch {
	case err != nil:
		return asStatus(err)
	case len(constraints) == 0:
		return refuse(skip)
	}
	for _, constraint := range constraints {
		constraint.counts = map[string]int{}
	}
	for _, node := range p.cluster.nodes {
		if !hasTopologies(node.node, constraints) {
			continue
		}
		for _, constraint := range constraints {
			if constraint.includes(c.pod, node) {
				constraint.counts[node.node.Labels[constraint.key]] += constraint.matching(node, c.pod.Namespace)
			}
		}
	}
	c.spread = constraints
	return nil
}

// Filter refuses a node if, with the pod, its domain had more than maxSkew matching pods more than the domain with the fewest.
// While there are fewer domains than minDomains, the fewest are 0.
// Upstream: podtopologyspread/filtering.go Filter, minMatchNum, v1.37.
func (topologySpread) Filter(c *cycle, node *nodeInfo) *status {
	for _, constraint := range c.spread {
		domain, ok := node.node.Labels[constraint.key]
		if !ok {
			return refuse(unresolvable, reasonSpreadLabel)
		}
		fewest := 0
		if len(constraint.counts) >= constraint.minDomains && len(constraint.counts) > 0 {
			fewest = slices.Min(slices.Collect(maps.Values(constraint.counts)))
		}
		with := constraint.counts[domain]
		if constraint.selector.Matches(labels.Set(c.pod.Labels)) {
			with++
		}
		if with-fewest > constraint.maxSkew {
			return refuse(unschedulable, reasonSpread)
		}
	}
	return nil
}
