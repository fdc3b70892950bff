package scheduler

import (
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/control"
)

// registration is a line of the table of events that could help the pods that a plugin
// has turned down: after these actions on this resource the hint is asked.
// Upstream: kube-scheduler framework ClusterEventWithHint, v1.37.
type registration struct {
	resource string
	actions  action
	// hint says whether the event could help the pod.
	hint func(pod *v1.Pod, e clusterEvent) bool
}

// upon returns a registration for the resource of T. The hint gets the object before and after
// the event; before is nil if it is new, after is nil if it is gone.
func upon[T control.Object](actions action, hint func(pod *v1.Pod, before, after T) bool) registration {
	return registration{resourceOf(reflect.TypeFor[T]()), actions, func(pod *v1.Pod, e clusterEvent) bool {
		before, _ := e.old.(T)
		after, _ := e.new.(T)
		return hint(pod, before, after)
	}}
}

// always returns the hint of who does not look at the objects.
// Upstream: scheduler.go defaultQueueingHintFn, v1.37.
func always[T control.Object](*v1.Pod, T, T) bool { return true }

// hintMap is the table of each plugin by its name.
// Upstream: scheduler/backend/queue QueueingHintMap, v1.37.
type hintMap map[string][]registration

// buildQueueingHintMap reads the plugins' tables.
// Upstream: scheduler.go buildQueueingHintMap, v1.37.
func buildQueueingHintMap(plugins framework) hintMap {
	hints := hintMap{}
	for _, p := range plugins.all {
		hints[p.Name()] = p.EventsToRegister()
	}
	return hints
}

// helps asks the plugins that turned the pod down. With none of those, after errors, any
// event could help.
// Upstream: scheduling_queue.go isPodWorthRequeuing, v1.37.
func (h hintMap) helps(pod *v1.Pod, rejectedBy []plugin, e clusterEvent) bool {
	if pod == nil {
		return false
	}
	return len(rejectedBy) == 0 || slices.ContainsFunc(rejectedBy, func(p plugin) bool {
		return slices.ContainsFunc(h[p.Name()], func(r registration) bool { return r.matches(e) && r.hint(pod, e) })
	})
}

// ofInterest says that any plugin waits for such events.
// Upstream: scheduling_queue.go isEventOfInterest, v1.37.
func (h hintMap) ofInterest(e clusterEvent) bool {
	for _, table := range h { // a question of whether, not of which
		if slices.ContainsFunc(table, func(r registration) bool { return r.matches(e) }) {
			return true
		}
	}
	return false
}

// matches says that the event is one of those registered.
// Upstream: framework/types.go MatchClusterEvents, v1.37.
func (r registration) matches(e clusterEvent) bool {
	return r.resource == e.resource && r.actions&e.action != 0
}
