package scheduler

import (
	"fmt"
	"slices"
)

// runFilterPlugins asks each plugin about one node, in order; the first refusal
// is the node's verdict.
// Upstream: runtime/framework.go RunFilterPlugins, v1.36.
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

// filters are the plugins that have something to say about nodes, in this cycle.
func (f framework) filters(c *cycle) []filterPlugin {
	return slices.DeleteFunc(of[filterPlugin](f), func(p filterPlugin) bool { return c.skipped[p.Name()] })
}

// excludes: the pod may only go to certain nodes, and this is none of them.
// Upstream: framework.PreFilterResult, v1.36.
func (c *cycle) excludes(node *nodeInfo) bool {
	return c.nodeNames != nil && !c.nodeNames[node.node.Name]
}

// excludedVerdict is what is said of every node that PreFilter has excluded.
// Upstream: schedule_one.go findNodesThatFitPod, v1.36.
func excludedVerdict() *status {
	st := refuse(unresolvable, fmt.Sprintf("node(s) didn't satisfy plugin(s) [%s]", nodeAffinity{}.Name()))
	st.plugin = nodeAffinity{}.Name()
	return st
}

// findNodesThatFitPod filters all nodes, the nominated one first: a pod that was
// about to be bound when the scheduler crashed goes where it was going.
// Upstream: schedule_one.go findNodesThatFitPod, v1.36.
func (s *scheduler) findNodesThatFitPod(c *cycle) ([]*nodeInfo, *status) {
	filters := s.plugins.filters(c)
	if name := c.pod.Status.NominatedNodeName; name != "" {
		if node, ok := s.cluster.node(name); ok && runFilterPlugins(filters, c, node).is(success) {
			return []*nodeInfo{node}, nil
		}
	}
	feasible := s.feasible[:0]
	c.diagnosis.nodes, s.refused = s.refused[:0], nil
	for _, node := range s.cluster.nodes {
		if c.excludes(node) {
			c.diagnosis.excluded++
			continue
		}
		st := runFilterPlugins(filters, c, node)
		switch {
		case st.is(success):
			feasible = append(feasible, node)
		case st.is(failed):
			return nil, st
		default:
			c.diagnosis.nodes = append(c.diagnosis.nodes, nodeVerdict{node.node.Name, st})
		}
	}
	s.feasible = feasible
	return feasible, nil
}
