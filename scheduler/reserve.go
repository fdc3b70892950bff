package scheduler

import "fmt"

// runReservePlugins claims in memory what the pod needs on the chosen node, so
// that the next pod sees it as taken before anything is written.
// Upstream: runtime/framework.go RunReservePluginsReserve, v1.37.
func (f framework) runReservePlugins(c *cycle) *status {
	for _, p := range f.reserve {
		if st := p.Reserve(c, c.node); st.stops() {
			return st.from(p.Name(), fmt.Sprintf("Reserve plugin %q", p.Name()))
		}
	}
	return nil
}

// runUnreservePlugins gives back, in reverse order, what Reserve claimed. It
// never writes to the API: what PreBind wrote stays.
// Upstream: runtime/framework.go RunReservePluginsUnreserve, v1.37.
func (f framework) runUnreservePlugins(c *cycle) {
	list := f.reserve
	for i := len(list) - 1; i >= 0; i-- {
		list[i].Unreserve(c, c.node)
	}
}
