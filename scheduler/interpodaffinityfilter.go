package scheduler

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/control"
)

// The reasons are upstream's.
const (
	reasonExistingAntiAffinity = "node(s) didn't satisfy existing pods anti-affinity rules"
	reasonPodAffinity          = "node(s) didn't match pod affinity rules"
	reasonPodAntiAffinity      = "node(s) didn't match pod anti-affinity rules"
)

// topologyPair is a label of nodes: a domain.
type topologyPair struct{ key, value string }

// termCounts counts, for each domain, the pods that terms match.
// Upstream: interpodaffinity/filtering.go topologyToMatchedTermCount, v1.37.
type termCounts map[topologyPair]int64

// add counts for the domain of a node, if it has the key.
func (m termCounts) add(node *v1.Node, key string, n int64) {
	if value, ok := node.Labels[key]; ok {
		m[topologyPair{key, value}] += n
	}
}

// interPodState is computed by PreFilter for Filter.
// Upstream: interpodaffinity/filtering.go preFilterState, v1.37.
type interPodState struct {
	terms affinityTerms
	// existing counts the pods whose anti-affinity keeps this one off.
	existing termCounts
	// affinity counts the pods that match all terms of the affinity, antiAffinity those that match one of the anti-affinity.
	affinity, antiAffinity termCounts
}

// PreFilter counts, by domain, the pods that this one must be with or must not be with.
// Upstream: interpodaffinity/filtering.go PreFilter, getExistingAntiAffinityCounts, getIncomingAffinityAntiAffinityCounts, v1.37.
func (p interPodAffinity) PreFilter(c *cycle) *status {
	terms, err := p.incoming(c.pod)
	if err != nil {
		return refuse(unresolvable, fmt.Sprintf("parsing pod: %+v", err))
	}
	s := interPodState{terms: terms, existing: termCounts{}, affinity: termCounts{}, antiAffinity: termCounts{}}
	namespace := p.namespaceLabels(c.pod)
	for _, placed := range p.cluster.affine {
		node, ok := p.cluster.node(placed.node)
		if !ok {
			continue
		}
		for _, term := range placed.terms.antiAffinity {
			if term.matches(c.pod, namespace) {
				s.existing.add(node.node, term.key, 1)
			}
		}
	}
	if len(terms.affinity)+len(terms.antiAffinity) == 0 {
		if len(s.existing) == 0 {
			return refuse(skip)
		}
		c.interPod = s
		return nil
	}
	for _, node := range p.cluster.nodes {
		for _, placed := range node.placed {
			if matchesAll(terms.affinity, placed.pod) {
				for _, term := range terms.affinity {
					s.affinity.add(node.node, term.key, 1)
				}
			}
			for _, term := range terms.antiAffinity {
				if term.matches(placed.pod, nil) {
					s.antiAffinity.add(node.node, term.key, 1)
				}
			}
		}
	}
	c.interPod = s
	return nil
}

// Filter asks the pod's affinity, its anti-affinity and the anti-affinity of the pods that run, in this order.
// Upstream: interpodaffinity/filtering.go Filter, v1.37.
func (interPodAffinity) Filter(c *cycle, node *nodeInfo) *status {
	s := &c.interPod
	switch {
	case !s.satisfiesAffinity(c.pod, node.node):
		return refuse(unresolvable, reasonPodAffinity)
	case !s.satisfiesAntiAffinity(node.node):
		return refuse(unschedulable, reasonPodAntiAffinity)
	case !s.satisfiesExisting(node.node):
		return refuse(unschedulable, reasonExistingAntiAffinity)
	}
	return nil
}

// satisfiesAffinity: the node has the keys of all terms, and pods that match all of them are in each of its domains. The first pod of a
// group that matches itself needs none.
// Upstream: interpodaffinity/filtering.go satisfyPodAffinity, v1.37.
func (s *interPodState) satisfiesAffinity(pod *v1.Pod, node *v1.Node) bool {
	exist := true
	for _, term := range s.terms.affinity {
		value, ok := node.Labels[term.key]
		if !ok {
			return false
		}
		exist = exist && s.affinity[topologyPair{term.key, value}] > 0
	}
	return exist || len(s.affinity) == 0 && matchesAll(s.terms.affinity, pod)
}

// satisfiesAntiAffinity: no pod that a term matches is in the domain. A node without the key is in no domain.
// Upstream: interpodaffinity/filtering.go satisfyPodAntiAffinity, v1.37.
func (s *interPodState) satisfiesAntiAffinity(node *v1.Node) bool {
	for _, term := range s.terms.antiAffinity {
		if value, ok := node.Labels[term.key]; ok && s.antiAffinity[topologyPair{term.key, value}] > 0 {
			return false
		}
	}
	return true
}

// satisfiesExisting: no pod in one of the node's domains has an anti-affinity to this one.
// Upstream: interpodaffinity/filtering.go satisfyExistingPodsAntiAffinity, v1.37.
func (s *interPodState) satisfiesExisting(node *v1.Node) bool {
	for pair, n := range s.existing { // a question of whether, not of which
		if value, ok := node.Labels[pair.key]; ok && value == pair.value && n > 0 {
			return false
		}
	}
	return true
}

// Why names the pod, or the label that is missing, for the reason of Filter.
func (p interPodAffinity) Why(c *cycle, node *nodeInfo) string {
	s := &c.interPod
	switch {
	case !s.satisfiesAffinity(c.pod, node.node):
		return s.whyNotNear(node.node)
	case !s.satisfiesAntiAffinity(node.node):
		for _, term := range s.terms.antiAffinity {
			if other := p.inDomain(term.key, node.node, func(placed *placement) bool { return term.matches(placed.pod, nil) }); other != "" {
				return fmt.Sprintf("the pod must not be with %s (%s)", other, term.key)
			}
		}
	}
	namespace := p.namespaceLabels(c.pod)
	for _, placed := range p.cluster.affine {
		for _, term := range placed.terms.antiAffinity {
			if term.matches(c.pod, namespace) && p.inDomain(term.key, node.node, func(other *placement) bool { return other == placed }) != "" {
				return fmt.Sprintf("pod %s must not be with this one (%s)", control.Key(placed.pod), term.key)
			}
		}
	}
	return ""
}

// whyNotNear says which key the node lacks, or in which of its domains no pod matches.
func (s *interPodState) whyNotNear(node *v1.Node) string {
	for _, term := range s.terms.affinity {
		if _, ok := node.Labels[term.key]; !ok {
			return "it has no label " + term.key
		}
	}
	for _, term := range s.terms.affinity {
		if value := node.Labels[term.key]; s.affinity[topologyPair{term.key, value}] == 0 {
			return fmt.Sprintf("no pod that its terms want runs in %s=%s", term.key, value)
		}
	}
	return ""
}

// inDomain returns a pod that is selected and placed in the domain of a node, "" if there is none.
func (p interPodAffinity) inDomain(key string, node *v1.Node, selects func(*placement) bool) string {
	domain, ok := node.Labels[key]
	for _, other := range p.cluster.nodes {
		if value, has := other.node.Labels[key]; !ok || !has || value != domain {
			continue
		}
		for _, placed := range other.placed {
			if selects(placed) {
				return fmt.Sprintf("pod %s on node %s", control.Key(placed.pod), other.name)
			}
		}
	}
	return ""
}
