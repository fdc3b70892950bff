package scheduler

import "fmt"

// runFilterPlugins asks each plugin about one node, in order; the first refusal
// is the node's verdict.
// Upstream: runtime/framework.go RunFilterPlugins, v1.36.
func (f framework) runFilterPlugins(filters []filterPlugin, c *cycle, node *nodeInfo) *status {
	for _, p := range filters {
		if c.skipped[p.Name()] {
			continue
		}
		if st := p.Filter(c, node); st.stops() {
			return st.from(p.Name(), fmt.Sprintf("%q filter plugin", p.Name()))
		}
	}
	return nil
}

// findNodesThatFitPod filters all nodes, the nominated one first: a pod that was
// about to be bound when the scheduler crashed goes where it was going.
// Upstream: schedule_one.go findNodesThatFitPod, v1.36.
func (s *scheduler) findNodesThatFitPod(c *cycle) ([]*nodeInfo, *status) {
	filters := of[filterPlugin](s.plugins)
	if name := c.pod.Status.NominatedNodeName; name != "" {
		if node, ok := s.cluster.node(name); ok && s.plugins.runFilterPlugins(filters, c, node).is(success) {
			return []*nodeInfo{node}, nil
		}
	}
	var feasible []*nodeInfo
	for node := range s.cluster.all() {
		st := s.plugins.runFilterPlugins(filters, c, node)
		switch {
		case st.is(success):
			feasible = append(feasible, node)
		case st.is(failed):
			return nil, st
		default:
			c.diagnosis.nodes = append(c.diagnosis.nodes, nodeVerdict{node.node.Name, st})
		}
	}
	return feasible, nil
}
