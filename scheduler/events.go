package scheduler

import (
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/control"
)

// clusterEvent is a change that might make a pod schedulable: old nil is an
// addition, new nil a removal.
// Upstream: framework.ClusterEvent with the objects its hints get, v1.36.
type clusterEvent struct{ old, new control.Object }

// podLeft: a pod that counted on a node is gone, or has ended.
func (e clusterEvent) podLeft() bool {
	old, ok := e.old.(*v1.Pod)
	return ok && e.new == nil && old.Spec.NodeName != ""
}

// tolerationAdded: the pod that waits tolerates more than it did.
// Upstream: framework/events.go extractPodTolerationChange, v1.36.
func (e clusterEvent) tolerationAdded() bool {
	old, updated := e.old.(*v1.Pod)
	pod, ok := e.new.(*v1.Pod)
	return ok && updated && len(pod.Spec.Tolerations) != len(old.Spec.Tolerations)
}

// nodeChanged: a node came, or changed in the respect that matters.
func (e clusterEvent) nodeChanged(matters func(old, node *v1.Node) bool) bool {
	node, ok := e.new.(*v1.Node)
	if !ok {
		return false
	}
	old, ok := e.old.(*v1.Node)
	return !ok || matters(old, node)
}

// forward makes a handler that tells the queue of a resource's changes, after
// the scheduler's own state has taken them in.
func forward[T control.Object](s *scheduler) control.Handler[T] {
	return control.Handler[T]{
		Add:    func(obj T) { s.queue.move(clusterEvent{nil, obj}) },
		Update: func(old, obj T) { s.queue.move(clusterEvent{old, obj}) },
		Delete: func(obj T) { s.queue.move(clusterEvent{obj, nil}) },
	}
}

// addAllEventHandlers connects the caches with the scheduler's state and queue.
// Upstream: scheduler/eventhandlers.go addAllEventHandlers, v1.36.
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
	s.cluster.setPod(pod)
	if s.ours(pod) {
		s.queue.add(pod)
	}
}

func (s *scheduler) podUpdated(old, pod *v1.Pod) {
	s.cluster.setPod(pod)
	switch {
	case !s.ours(pod):
		s.queue.delete(pod) // bound, ended or gated: nothing to schedule
	case s.queue.knows(pod):
		s.queue.update(old, pod)
	case !s.cluster.isAssumed(pod.UID): // an assumed pod is bound already, only the news is old
		s.queue.add(pod)
	}
	if counts(old) && !counts(pod) {
		s.queue.move(clusterEvent{old: old})
	}
}

func (s *scheduler) podDeleted(pod *v1.Pod) {
	s.cluster.dropPod(pod)
	s.queue.delete(pod)
	if counts(pod) {
		s.queue.move(clusterEvent{old: pod})
	}
}

// ours: the pod waits for this scheduler to place it.
func (s *scheduler) ours(pod *v1.Pod) bool {
	return pod.Spec.NodeName == "" && pod.Spec.SchedulerName == s.cfg.SchedulerName && !ended(pod) &&
		len(pod.Spec.SchedulingGates) == 0
}

// counts: the pod takes room on a node.
func counts(pod *v1.Pod) bool { return pod.Spec.NodeName != "" && !ended(pod) }
