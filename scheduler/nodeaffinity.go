package scheduler

import (
	"maps"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/binding"
)

// nodeAffinity: the pod's nodeSelector and required node affinity must match;
// preferred terms raise the score by their weight.
// Upstream: plugins/nodeaffinity, v1.36.
type nodeAffinity struct{}

func (nodeAffinity) Name() string  { return "NodeAffinity" }
func (nodeAffinity) Weight() int64 { return 2 }

func (nodeAffinity) Helps(_ *v1.Pod, e clusterEvent) bool { return e.nodeChanged(relabelled) }

func (nodeAffinity) Filter(c *cycle, node *nodeInfo) *status {
	match, err := matchesNode(c.pod, node.node)
	switch {
	case err != nil:
		// Upstream parses lazily: a bad term is an error only where it decides.
		return asStatus(err)
	case !match:
		return refuse(unresolvable, "node(s) didn't match Pod's node affinity/selector")
	}
	return nil
}

// matchesNode: all labels of the nodeSelector, and one required term.
// Upstream: component-helpers nodeaffinity GetRequiredNodeAffinity, v1.36.
func matchesNode(pod *v1.Pod, node *v1.Node) (bool, error) {
	for key, value := range pod.Spec.NodeSelector { // all must hold: the order does not matter
		if have, ok := node.Labels[key]; !ok || have != value {
			return false, nil
		}
	}
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return true, nil
	}
	return binding.MatchNodeSelector(affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution, node)
}

// Score is the part of the preferred weight that the node earns.
func (nodeAffinity) Score(c *cycle, node *nodeInfo) int64 {
	affinity := c.pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil {
		return 0
	}
	var earned, total int64
	for _, term := range affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		total += int64(term.Weight)
		selector := &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term.Preference}}
		if match, err := binding.MatchNodeSelector(selector, node.node); match && err == nil {
			earned += int64(term.Weight)
		}
	}
	if total == 0 {
		return 0
	}
	return earned * maxNodeScore / total
}

func relabelled(old, node *v1.Node) bool { return !maps.Equal(old.Labels, node.Labels) }
