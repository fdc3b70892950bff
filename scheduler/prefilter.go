package scheduler

import "fmt"

// runPreFilterPlugins lets each plugin look at the pod before any node. The
// first refusal ends the attempt.
// Upstream: runtime/framework.go RunPreFilterPlugins, v1.37.
func (f framework) runPreFilterPlugins(c *cycle) *status {
	for _, p := range f.preFilter {
		st := p.PreFilter(c)
		if st.is(skip) {
			c.skipped[p.Name()] = true
			continue
		}
		if st.stops() {
			return st.from(p.Name(), fmt.Sprintf("PreFilter plugin %q", p.Name()))
		}
	}
	return nil
}
