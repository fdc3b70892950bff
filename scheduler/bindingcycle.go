package scheduler

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/binding"
)

// bindingCycle makes real what the scheduling cycle decided.
// Upstream: schedule_one.go runBindingCycle, bindingCycle, v1.37.
func (s *scheduler) bindingCycle(ctx context.Context, c *cycle) {
	st := s.bind(ctx, c)
	delete(s.inPreBind, c.pod.UID)
	if st.stops() {
		s.handleBindingCycleError(ctx, c, st)
		return
	}
	s.queue.done(c.entry)
	s.recorder.Eventf(c.pod, nil, v1.EventTypeNormal, "Scheduled", "Binding", "Successfully assigned %s/%s to %s", c.pod.Namespace, c.pod.Name, c.node)
}

func (s *scheduler) bind(ctx context.Context, c *cycle) *status {
	work := s.plugins.runPreBindPreFlights(c)
	if work.is(failed) || work.rejected() {
		return work
	}
	if work.is(success) {
		// The pod's status says where it will run while its volumes are being made. If
		// this write fails, the binding goes on.
		if err := s.updatePod(ctx, c.pod, nil, c.node); err == nil {
			c.nominated = c.node
		}
		if st := s.runPreBind(ctx, c); st.stops() {
			c.entry.unboundOn(c.node)
			return st
		}
	}
	if err := s.staleClaim(c.pod); err != nil {
		return asStatus(err)
	}
	return s.plugins.runBindPlugins(ctx, c)
}

// staleClaim returns an error if the cache shows a claim of the pod that is gone, and Config.SeeClaims asks for it.
func (s *scheduler) staleClaim(pod *v1.Pod) error {
	if !s.cfg.SeeClaims || s.cfg.ClaimUID == nil {
		return nil
	}
	for i := range pod.Spec.Volumes {
		name := binding.ClaimOfVolume(pod, &pod.Spec.Volumes[i])
		if claim, ok := s.caches.claims.Get(pod.Namespace + "/" + name); ok && s.cfg.ClaimUID(pod.Namespace, name) != claim.UID {
			return fmt.Errorf("claim %s/%s with UID %s is gone", pod.Namespace, name, claim.UID)
		}
	}
	return nil
}

// handleBindingCycleError gives the node back in memory, lets the pods have it
// that it was taken from, and reports. The API keeps what PreBind has written.
// Upstream: schedule_one.go handleBindingCycleError, v1.37.
func (s *scheduler) handleBindingCycleError(ctx context.Context, c *cycle, st *status) {
	if s.giveBack(c) {
		s.queue.move(eventsOf(placedOn(c.pod, c.node), nil), turnedDown)
	}
	if c.inPreBind != nil {
		for _, preemptor := range c.inPreBind.preemptors {
			s.queue.activate(preemptor)
		}
	}
	s.handleSchedulingFailure(ctx, c, st)
}
