package scheduler

import (
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/control"
)

// forward makes a handler that tells the queue of a resource's changes, after
// the scheduler's own state has taken them in.
func forward[T control.Object](s *scheduler) control.Handler[T] {
	return control.Handler[T]{
		Add:    func(obj T) { s.queue.move(eventsOf(nil, obj), everyPod) },
		Update: func(old, obj T) { s.queue.move(eventsOf(old, obj), everyPod) },
		Delete: func(obj T) { s.queue.move(eventsOf(obj, nil), everyPod) },
	}
}

// addAllEventHandlers connects the caches with the scheduler's state and queue.
// Upstream: scheduler/eventhandlers.go addAllEventHandlers, v1.37.
func (s *scheduler) addAllEventHandlers() {
	s.caches.nodes.Handle(control.Handler[*v1.Node]{
		Add:    s.cluster.setNode,
		Update: func(_, node *v1.Node) { s.cluster.setNode(node) },
		Delete: s.cluster.dropNode,
	})
	s.caches.pods.Handle(control.Handler[*v1.Pod]{
		Add: s.podAdded,
		Update: func(old, pod *v1.Pod) {
			if old.UID != pod.UID { // deleted and made anew while we were not looking
				s.podDeleted(old)
				s.podAdded(pod)
				return
			}
			s.podUpdated(old, pod)
		},
		Delete: s.podDeleted,
	})
	s.caches.nodes.Handle(forward[*v1.Node](s))
	s.caches.volumes.Handle(forward[*v1.PersistentVolume](s))
	s.caches.claims.Handle(forward[*v1.PersistentVolumeClaim](s))
	s.caches.handleStorage(s)
}

func (s *scheduler) podAdded(pod *v1.Pod) {
	s.caches.followNamespaces(s.env, pod)
	s.caches.followBudgets(s.env, pod)
	s.cluster.setPod(pod)
	switch {
	case s.ours(pod):
		s.nominator.update(nil, pod)
		s.queue.add(pod)
	case counts(pod):
		s.queue.move(eventsOf(nil, pod), everyPod)
	}
}

// Upstream: scheduler/eventhandlers.go updatePod, v1.37.
func (s *scheduler) podUpdated(old, pod *v1.Pod) {
	s.cluster.setPod(pod)
	switch {
	case !s.ours(pod):
		s.nominator.nominate(pod, "")
		s.queue.delete(pod) // bound, ended or gated: nothing to schedule
	case s.cluster.isAssumed(pod.UID): // what is being bound waits for no event
		if pod.DeletionTimestamp != nil && old.DeletionTimestamp == nil {
			s.handleAssumedPodDeletion(pod)
		}
	case s.queue.knows(pod):
		s.nominator.update(old, pod)
		s.queue.update(old, pod)
		s.nominationEnded(old, pod.Status.NominatedNodeName)
	default:
		s.nominator.update(old, pod)
		s.queue.add(pod)
	}
	switch {
	case !counts(old) && counts(pod):
		s.queue.move(eventsOf(nil, pod), everyPod)
	case counts(old) && !counts(pod):
		s.queue.move(eventsOf(old, nil), everyPod)
	case counts(old):
		s.queue.move(eventsOf(old, pod), everyPod)
	}
}

// Upstream: scheduler/eventhandlers.go deletePod, v1.37.
func (s *scheduler) podDeleted(pod *v1.Pod) {
	s.nominator.nominate(pod, "")
	s.queue.delete(pod)
	placed := s.cluster.placedPod(pod)
	if s.cluster.forget(pod.UID); counts(placed) {
		s.queue.move(eventsOf(placed, nil), everyPod)
		return
	}
	s.nominationEnded(pod, "")
}

// handleAssumedPodDeletion frees the place of a pod that is being bound, although its
// binding cycle has not noticed yet that the pod goes.
// Upstream: scheduler/eventhandlers.go handleAssumedPodDeletion, v1.37.
func (s *scheduler) handleAssumedPodDeletion(pod *v1.Pod) {
	placed := s.cluster.placedPod(pod)
	s.cluster.forget(pod.UID)
	s.queue.move(eventsOf(placed, nil), everyPod)
}

// nominationEnded: a pod that was to go to a node goes to another, or nowhere. That
// helps as if it had left the node, but only pods of its priority or less, from which it
// had kept the place.
// Upstream: scheduler/eventhandlers.go hasNominatedNodeNameChanged, getLEPriorityPreCheck, v1.37.
func (s *scheduler) nominationEnded(old *v1.Pod, now string) {
	if was := old.Status.NominatedNodeName; was != "" && was != now {
		s.queue.move(eventsOf(old, nil), func(entry *queuedPod) bool { return turnedDown(entry) && entry.priority <= priority(old) })
	}
}

// ours: the pod waits for this scheduler to place it.
func (s *scheduler) ours(pod *v1.Pod) bool {
	return pod.Spec.NodeName == "" && pod.Spec.SchedulerName == s.cfg.SchedulerName && !ended(pod) &&
		len(pod.Spec.SchedulingGates) == 0
}

// counts: the pod takes room on a node.
func counts(pod *v1.Pod) bool { return pod.Spec.NodeName != "" && !ended(pod) }
