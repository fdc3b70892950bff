package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/trace"
)

// maxNodesTold is the number of nodes a decision in the trace tells apart.
const maxNodesTold = 4

// traceChoice tells which node was taken, and why.
func (s *scheduler) traceChoice(c *cycle, nodes []*nodeInfo, equals int) {
	feasible := len(nodes)
	var b strings.Builder
	fmt.Fprintf(&b, "takes %s", c.node)
	switch {
	case feasible == 1 && c.diagnosis.total == 1:
		b.WriteString(", the only node")
	case feasible == 1 && len(c.diagnosis.nodes)+c.diagnosis.excluded == 0:
		b.WriteString(", nominated before")
	case feasible == 1:
		fmt.Fprintf(&b, ", the only one of %d nodes that fits (%s)", c.diagnosis.total, strings.Join(s.perNode(c), "; "))
	case equals == 1:
		fmt.Fprintf(&b, ", the best of %d nodes that fit", feasible)
	default:
		fmt.Fprintf(&b, ", one of %d equally good nodes", equals)
	}
	if rest := c.diagnosis.total - feasible - len(c.diagnosis.nodes) - c.diagnosis.excluded; feasible > 1 && rest > 0 {
		fmt.Fprintf(&b, "; the other %d were not looked at", rest)
	}
	volumes := s.volumesOn(c)
	if volumes != nil {
		for _, bound := range volumes.StaticBindings {
			fmt.Fprintf(&b, "; pvc %s gets pv %s", control.Key(bound.pvc), bound.pv.Name)
		}
		for _, claim := range volumes.DynamicProvisions {
			fmt.Fprintf(&b, "; pvc %s is to be provisioned there", control.Key(claim))
		}
	}
	s.trace(c, b.String(), func() *trace.Choice { return s.weigh(c, nodes, volumes) })
}

// volumesOn returns what the pod needs on its chosen node, nil if it has no claims.
func (s *scheduler) volumesOn(c *cycle) *PodVolumes {
	p, ok := s.volumeBinding()
	if !ok || c.volumes.claims == nil {
		return nil
	}
	volumes, _ := p.found(c, c.node) // Reserve reports the error
	return volumes
}

// traceRefusal tells why no node was taken.
func (s *scheduler) traceRefusal(c *cycle) {
	weigh := func() *trace.Choice { return s.weigh(c, nil, nil) }
	switch {
	case c.diagnosis.total == 0:
		s.trace(c, "there are no nodes", nil)
	case c.diagnosis.preFilter != nil:
		s.trace(c, "no node is looked at: "+c.diagnosis.preFilter.message(), weigh)
	default:
		s.trace(c, "no node fits: "+strings.Join(s.perNode(c), "; "), weigh)
	}
}

// trace tells a pod's decision unless it is the one told last. weigh returns its values.
func (s *scheduler) trace(c *cycle, text string, weigh func() *trace.Choice) {
	if c.entry.said == text {
		return
	}
	c.entry.said = text
	s.env.Trace(trace.Decision{About: trace.RefOf("Pod", c.pod), Text: text, Weigh: weigh})
}

// perNode says for each node passed over why, claim by claim where volumes are
// the reason.
func (s *scheduler) perNode(c *cycle) []string {
	d := &c.diagnosis
	if len(d.nodes) < minFeasibleNodesToFind { // in order of name, as people look for them
		slices.SortFunc(d.nodes, func(a, b nodeVerdict) int { return cmp.Compare(a.node, b.node) })
	}
	var list []string
	for i, v := range d.nodes {
		if i == maxNodesTold && len(d.nodes) > i+1 {
			return append(list, fmt.Sprintf("and %d more", len(d.nodes)-i))
		}
		list = append(list, NodeVerdict{Node: v.node, Plugin: v.status.plugin, Reasons: v.status.reasons,
			Conflicts: s.conflicts(c, v.status.plugin, v.node)}.String())
	}
	if d.excluded > 0 {
		list = append(list, fmt.Sprintf("%d that the pod's affinity does not name", d.excluded))
	}
	return list
}
