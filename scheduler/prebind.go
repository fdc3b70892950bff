package scheduler

import (
	"context"
	"errors"
	"fmt"

	"github.com/storagesim/storagesim/control"
)

// podInPreBind is a pod whose PreBind plugins are at work. A pod that preempts it ends this work, and not the pod.
// Upstream: runtime/pods_in_prebind_map.go podInPreBind, v1.37.
type podInPreBind struct {
	cancel             context.CancelCauseFunc
	canceled, finished bool
	preemptors         []*queuedPod // are tried again when its place is given back
}

// runPreBind lets the plugins do their work, which ends if another pod preempts the cycle's.
// Upstream: schedule_one.go bindingCycle, from AddPodInPreBind to MarkPrebound, v1.37.
func (s *scheduler) runPreBind(ctx context.Context, c *cycle) *status {
	ctx, cancel := control.WithCancelCause(ctx)
	defer cancel(nil)
	c.inPreBind = &podInPreBind{cancel: cancel}
	s.inPreBind[c.pod.UID] = c.inPreBind
	st := s.plugins.runPreBindPlugins(ctx, c)
	if !st.stops() && !c.inPreBind.markPrebound() {
		st = asStatus(context.Cause(ctx))
	}
	return st
}

// cancelPod ends the work of the plugins, for a reason; false if it is done.
// Upstream: runtime/pods_in_prebind_map.go CancelPod, v1.37.
func (p *podInPreBind) cancelPod(why string) bool {
	if p.finished {
		return false
	}
	if !p.canceled {
		p.canceled = true
		p.cancel(errors.New(why))
	}
	return true
}

// markPrebound says that the work is done; false if it was to end before.
// Upstream: runtime/pods_in_prebind_map.go MarkPrebound, v1.37.
func (p *podInPreBind) markPrebound() bool {
	p.finished = !p.canceled
	return p.finished
}

// runPreBindPreFlights returns the status skip if no plugin has work to do before the pod is
// bound, nil if one has, and the first status that ends the cycle. Upstream: runtime/framework.go RunPreBindPreFlights, v1.37.
func (f framework) runPreBindPreFlights(c *cycle) *status {
	verdict := refuse(skip)
	for _, p := range f.preBind {
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
	for _, p := range f.preBind {
		if p.PreBindPreFlight(c, c.node).is(skip) {
			continue
		}
		if st := p.PreBind(ctx, c, c.node); st.stops() {
			if errors.Is(st.err, context.Canceled) {
				st.err = context.Cause(ctx)
			}
			return st.from(p.Name(), fmt.Sprintf("PreBind plugin %q", p.Name()))
		}
	}
	return nil
}
