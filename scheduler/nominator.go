package scheduler

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// nomination is a place that is kept for a pod which is not on its node yet: pods of its priority or less must leave the room.
type nomination struct {
	pod  *v1.Pod
	node string
}

// nominator holds the nominations, in the order in which they came.
// Upstream: scheduler/backend/queue/nominator.go nominator, v1.37.
type nominator struct{ list []nomination }

// nominate keeps a place for a pod, instead of the one that it had; node "" keeps none.
// Upstream: nominator.go AddNominatedPod, v1.37.
func (n *nominator) nominate(pod *v1.Pod, node string) {
	n.list = slices.DeleteFunc(n.list, func(other nomination) bool { return other.pod.UID == pod.UID })
	if node != "" {
		n.list = append(n.list, nomination{pod, node})
	}
}

// update takes in the new state of a pod that has no node. If neither state names a node, what preemption has decided stays: its
// write may be under way.
// Upstream: nominator.go UpdateNominatedPod, v1.37.
func (n *nominator) update(old, pod *v1.Pod) {
	node := pod.Status.NominatedNodeName
	if node == "" && (old == nil || old.Status.NominatedNodeName == "") {
		for _, known := range n.list {
			if known.pod.UID == pod.UID {
				node = known.node
			}
		}
	}
	n.nominate(pod, node)
}

// on returns the pods for which a place on a node is kept from the pod. Among pods without a priority no place is kept.
// Upstream: runtime/framework.go addNominatedPods, v1.37.
func (n *nominator) on(node string, from *v1.Pod) []*v1.Pod {
	var pods []*v1.Pod
	for _, other := range n.list {
		if other.node == node && other.pod.UID != from.UID && priority(other.pod) >= priority(from) && (priority(other.pod) != 0 || priority(from) != 0) {
			pods = append(pods, other.pod)
		}
	}
	return pods
}

// below returns the pods of a lower priority for which a place on a node is kept.
// Upstream: preemption/executor.go getLowerPriorityNominatedPods, v1.37.
func (n *nominator) below(node string, than *v1.Pod) []*v1.Pod {
	var pods []*v1.Pod
	for _, other := range n.list {
		if other.node == node && priority(other.pod) < priority(than) {
			pods = append(pods, other.pod)
		}
	}
	return pods
}

// fits asks the filters about a node, with the pods for which a place is kept there, and without them: the pod must
// fit in both cases, since they may not come.
// Upstream: runtime/framework.go RunFilterPluginsWithNominatedPods, v1.37.
func (s *scheduler) fits(c *cycle, filters []filterPlugin, node *nodeInfo) *status {
	if len(s.nominator.list) > 0 {
		if nominated := s.nominator.on(node.name, c.pod); len(nominated) > 0 {
			if st := s.fitsWith(c, node, nominated, nil); st.stops() {
				return st
			}
		}
	}
	return runFilterPlugins(filters, c, node)
}

// fitsWith asks the filters about a node as if some pods were on it, and others were not. What PreFilter has counted is counted anew.
func (s *scheduler) fitsWith(c *cycle, node *nodeInfo, with []*v1.Pod, without []*placement) *status {
	restore := s.cluster.suppose(node, with, without)
	defer restore()
	trial := newCycle(c.pod, c.entry)
	if st := s.plugins.runPreFilterPlugins(trial); st.stops() {
		return st
	}
	return runFilterPlugins(s.plugins.filters(trial), trial, node)
}

// suppose puts pods on a node and takes others off it, until restore is called.
func (s *clusterState) suppose(node *nodeInfo, with []*v1.Pod, without []*placement) (restore func()) {
	before := *node
	before.ports, before.placed, before.volumePods = slices.Clone(node.ports), slices.Clone(node.placed), slices.Clone(node.volumePods)
	affine := slices.Clone(s.affine)
	var added []*v1.Pod
	for _, pod := range with {
		if s.placed[pod.UID] == nil {
			added = append(added, pod)
			s.place(&placement{pod: pod, node: node.name})
		}
	}
	for _, p := range without {
		s.forget(p.pod.UID)
	}
	return func() {
		for _, pod := range added {
			s.forget(pod.UID)
		}
		for _, p := range without {
			s.place(p)
		}
		*node, s.affine = before, affine
	}
}
