package scheduler

import "fmt"

// runPreScorePlugins prepares the choice, if there is one.
// Upstream: runtime/framework.go RunPreScorePlugins, v1.37.
func (f framework) runPreScorePlugins(c *cycle, feasible []*nodeInfo) *status {
	if len(feasible) < 2 {
		return nil
	}
	for _, p := range f.preScore {
		switch st := p.PreScore(c, feasible); {
		case st.is(skip):
			c.unscored[p.Name()] = true
		case st.stops():
			return st.from(p.Name(), fmt.Sprintf("PreScore plugin %q", p.Name()))
		}
	}
	return nil
}
