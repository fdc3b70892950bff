package scheduler

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
)

const (
	reasonNodeAffinity = "node(s) didn't match Pod's node affinity/selector"
	// reasonAffinityConflict: the terms ask for nodes by name that no node can have.
	reasonAffinityConflict = "pod affinity terms conflict"
)

// nodeAffinity: the pod's nodeSelector and required node affinity must match;
// preferred terms raise the score by their weight.
// Upstream: plugins/nodeaffinity/node_affinity.go, v1.37.
type nodeAffinity struct{}

func (nodeAffinity) Name() string  { return "NodeAffinity" }
func (nodeAffinity) Weight() int64 { return 2 }

// Upstream: node_affinity.go EventsToRegister, v1.37.
func (nodeAffinity) EventsToRegister() []registration {
	return []registration{upon(added|updateNodeLabel, isSchedulableAfterAffinityChange)}
}

// isSchedulableAfterAffinityChange: a node comes that matches, or one begins to match.
// Upstream: node_affinity.go isSchedulableAfterNodeChange, v1.37.
func isSchedulableAfterAffinityChange(pod *v1.Pod, before, after *v1.Node) bool {
	matches, err := matchesNode(pod, after)
	if before == nil || err != nil || !matches {
		return err != nil || matches
	}
	matched, err := matchesNode(pod, before)
	return err != nil || !matched
}

// PreFilter finds out whether only some nodes need be looked at: those that every
// required term names.
// Upstream: node_affinity.go PreFilter, v1.37.
func (nodeAffinity) PreFilter(c *cycle) *status {
	selector := requiredSelector(c.pod)
	switch {
	case selector == nil && c.pod.Spec.NodeSelector == nil:
		return refuse(skip)
	case selector == nil || len(selector.NodeSelectorTerms) == 0:
		return nil
	}
	terms := selector.NodeSelectorTerms
	nodes := map[string]bool{}
	for i := range terms {
		names, named := namedNodes(&terms[i])
		if !named {
			return nil // the terms are alternatives, and this one is for any node
		}
		for _, name := range names {
			nodes[name] = true
		}
	}
	if len(nodes) == 0 {
		return refuse(unresolvable, reasonAffinityConflict)
	}
	c.nodeNames = nodes
	return nil
}

// namedNodes returns the nodes that all of the term's requirements on metadata.name
// agree on; named says that there are such requirements.
func namedNodes(term *v1.NodeSelectorTerm) (names []string, named bool) {
	for _, r := range term.MatchFields {
		if r.Key != metav1.ObjectNameField || r.Operator != v1.NodeSelectorOpIn {
			continue
		}
		if !named {
			names, named = slices.Clone(r.Values), true
			continue
		}
		names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(r.Values, name) })
	}
	return names, named
}

// Filter: terms that cannot be parsed match nothing, and are no error.
// Upstream: node_affinity.go Filter, v1.37.
func (nodeAffinity) Filter(c *cycle, node *nodeInfo) *status {
	if match, _ := matchesNode(c.pod, node.node); !match {
		return refuse(unresolvable, reasonNodeAffinity)
	}
	return nil
}

// matchesNode reports whether a node has all labels of the nodeSelector and matches a required
// term, if there are any.
// Upstream: component-helpers nodeaffinity GetRequiredNodeAffinity, v1.37.
func matchesNode(pod *v1.Pod, node *v1.Node) (bool, error) {
	for key, value := range pod.Spec.NodeSelector { // all must hold: the order does not matter
		if have, ok := node.Labels[key]; !ok || have != value {
			return false, nil
		}
	}
	return binding.MatchNodeSelector(requiredSelector(pod), node)
}

// requiredSelector returns the pod's required node affinity, nil if it has none.
func requiredSelector(pod *v1.Pod) *v1.NodeSelector {
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil {
		return nil
	}
	return affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

// preferredTerms returns the pod's preferred node affinity.
func preferredTerms(pod *v1.Pod) []v1.PreferredSchedulingTerm {
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil {
		return nil
	}
	return affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
}

// prefers reports whether a node matches a preferred term, or what is wrong with it.
func prefers(term *v1.PreferredSchedulingTerm, node *v1.Node) (bool, error) {
	return binding.MatchNodeSelector(&v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term.Preference}}, node)
}

// PreScore: a preferred term that cannot be parsed is an error, unlike a required
// one, but only where there is a choice.
// Upstream: node_affinity.go PreScore, v1.37.
func (nodeAffinity) PreScore(c *cycle, _ []*nodeInfo) *status {
	terms := preferredTerms(c.pod)
	if terms == nil {
		return refuse(skip)
	}
	for i := range terms {
		if terms[i].Weight == 0 {
			continue
		}
		if _, err := prefers(&terms[i], &v1.Node{}); err != nil {
			return asStatus(fmt.Errorf("preferredDuringSchedulingIgnoredDuringExecution[%d]: %w", i, err))
		}
	}
	return nil
}

// Score returns the weight of the preferred terms that the node matches.
func (nodeAffinity) Score(c *cycle, node *nodeInfo) int64 {
	var earned int64
	terms := preferredTerms(c.pod)
	for i := range terms {
		if match, _ := prefers(&terms[i], node.node); match {
			earned += int64(terms[i].Weight)
		}
	}
	return earned
}

func (nodeAffinity) NormalizeScore(scores []int64) { defaultNormalizeScore(scores, false) }
