package scheduler

import (
	"fmt"
	"slices"
)

// runFilterPlugins asks each plugin about one node, in order; the first refusal
// is the node's verdict.
// Upstream: runtime/framework.go RunFilterPlugins, v1.37.
func runFilterPlugins(filters []filterPlugin, c *cycle, node *nodeInfo) *status {
	for _, p := range filters {
		st := p.Filter(c, node)
		switch {
		case !st.stops():
		case st.err != nil:
			return st.from(p.Name(), fmt.Sprintf("%q filter plugin", p.Name()))
		default: // one of very many
			st.plugin = p.Name()
			return st
		}
	}
	return nil
}

// filters returns the plugins that have something to say about nodes, in this cycle.
func (f framework) filters(c *cycle) []filterPlugin {
	if len(c.skipped) == 0 {
		return f.filter
	}
	list := make([]filterPlugin, 0, len(f.filter))
	for _, p := range f.filter {
		if !c.skipped[p.Name()] {
			list = append(list, p)
		}
	}
	return list
}

// excludes reports whether the pod may only go to certain other nodes.
// Upstream: framework.PreFilterResult, v1.37.
func (c *cycle) excludes(node *nodeInfo) bool {
	return c.nodeNames != nil && !c.nodeNames[node.node.Name]
}

// excludedVerdict returns what is said of every node that PreFilter has excluded.
// Upstream: schedule_one.go findNodesThatFitPod, v1.37.
func excludedVerdict() *status {
	st := refuse(unresolvable, fmt.Sprintf("node(s) didn't satisfy plugin(s) [%s]", nodeAffinity{}.Name()))
	st.plugin = nodeAffinity{}.Name()
	return st
}

// findNodesThatFitPod filters the nodes, the nominated one first: a pod that was about to
// be bound when the scheduler crashed goes where it was going. The next pod's search
// begins where this one ended.
// Upstream: schedule_one.go findNodesThatFitPod, v1.37.
func (s *scheduler) findNodesThatFitPod(c *cycle) ([]*nodeInfo, *status) {
	filters := s.plugins.filters(c)
	if name := s.nominatedNode(c.pod); name != "" {
		if node, ok := s.cluster.node(name); ok && s.fits(c, filters, node).is(success) {
			return []*nodeInfo{node}, nil
		}
	}
	all := s.cluster.list()
	nodes := all
	if c.nodeNames != nil {
		nodes = slices.DeleteFunc(slices.Clone(all), c.excludes)
		c.diagnosis.excluded = len(all) - len(nodes)
	}
	st := s.findNodesThatPassFilters(c, filters, nodes)
	if processed := len(s.feasible) + len(c.diagnosis.nodes); len(all) > 0 {
		s.nextStartNodeIndex = (s.nextStartNodeIndex + processed) % len(all)
	}
	if st.stops() {
		return nil, st
	}
	return s.feasible, nil
}

// findNodesThatPassFilters leaves in s.feasible the nodes that fit, as many as are looked
// for, and in the diagnosis those that do not.
// Upstream: schedule_one.go findNodesThatPassFilters, v1.37, which looks at several nodes
// at once and so at a few more.
func (s *scheduler) findNodesThatPassFilters(c *cycle, filters []filterPlugin, nodes []*nodeInfo) *status {
	s.feasible = s.feasible[:0]
	c.diagnosis.nodes = s.refused[:0]
	defer func() { s.refused = c.diagnosis.nodes }()
	wanted := numFeasibleNodesToFind(s.cfg.PercentageOfNodesToScore, len(nodes))
	for i := range nodes {
		node := nodes[(s.nextStartNodeIndex+i)%len(nodes)]
		st := s.fits(c, filters, node)
		switch {
		case st.is(failed):
			return st
		case !st.is(success):
			c.diagnosis.nodes = append(c.diagnosis.nodes, nodeVerdict{node.name, st})
			continue
		}
		if s.feasible = append(s.feasible, node); len(s.feasible) == wanted {
			return nil
		}
	}
	return nil
}

// Upstream: schedule_one.go minFeasibleNodesToFind, minFeasibleNodesPercentageToFind.
const (
	minFeasibleNodesToFind           = 100
	minFeasibleNodesPercentageToFind = 5
)

// numFeasibleNodesToFind returns the number of nodes that fit after which the search ends. The larger
// the cluster, the smaller is this part of it.
// Upstream: schedule_one.go numFeasibleNodesToFind, v1.37.
func numFeasibleNodesToFind(percentage, nodes int) int {
	if nodes < minFeasibleNodesToFind {
		return nodes
	}
	if percentage == 0 {
		percentage = max(50-nodes/125, minFeasibleNodesPercentageToFind)
	}
	return max(nodes*percentage/100, minFeasibleNodesToFind)
}
