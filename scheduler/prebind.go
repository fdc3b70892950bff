package scheduler

import (
	"context"
	"fmt"
)

// runPreBindPreFlights returns the status skip if no plugin has work to do before the pod is
// bound, nil if one has, and the first status that ends the cycle. Upstream: runtime/framework.go RunPreBindPreFlights, v1.37.
func (f framework) runPreBindPreFlights(c *cycle) *status {
	verdict := refuse(skip)
	for _, p := range of[preBindPlugin](f) {
		st := p.PreBindPreFlight(c, c.node)
		if st.stops() {
			return st.from(p.Name(), fmt.Sprintf("PreBindPreFlight plugin %q", p.Name()))
		}
		if !st.is(skip) {
			verdict = nil
		}
	}
	return verdict
}

// runPreBindPlugins does that work.
// Upstream: runtime/framework.go RunPreBindPlugins, v1.37.
func (f framework) runPreBindPlugins(ctx context.Context, c *cycle) *status {
	for _, p := range of[preBindPlugin](f) {
		if p.PreBindPreFlight(c, c.node).is(skip) {
			continue
		}
		if st := p.PreBind(ctx, c, c.node); st.stops() {
			return st.from(p.Name(), fmt.Sprintf("PreBind plugin %q", p.Name()))
		}
	}
	return nil
}
