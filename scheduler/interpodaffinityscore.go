package scheduler

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// hardPodAffinityWeight is the weight of a required term of a pod that runs, for the pods that it matches.
// Upstream: apis/config/v1/defaults.go InterPodAffinityArgs, v1.37.
const hardPodAffinityWeight = 1

// PreScore adds up the weights of the terms that match, by domain: the pod's own preferred terms about the pods that run, and the
// terms of those about the pod.
// Upstream: interpodaffinity/scoring.go PreScore, processExistingPod, v1.37.
func (p interPodAffinity) PreScore(c *cycle, _ []*nodeInfo) *status {
	terms, err := p.incoming(c.pod)
	if err != nil {
		return asStatus(fmt.Errorf("failed to parse pod: %w", err))
	}
	scores, namespace := termCounts{}, p.namespaceLabels(c.pod)
	if len(terms.preferred)+len(terms.preferredAntiAffinity) > 0 {
		for _, node := range p.cluster.nodes {
			for _, placed := range node.placed {
				scores.addPreferred(terms, placed.pod, nil, node.node)
			}
		}
	}
	for _, placed := range p.cluster.affine {
		node, ok := p.cluster.node(placed.node)
		if !ok {
			continue
		}
		for _, term := range placed.terms.affinity {
			if term.matches(c.pod, namespace) {
				scores.add(node.node, term.key, hardPodAffinityWeight)
			}
		}
		scores.addPreferred(*placed.terms, c.pod, namespace, node.node)
	}
	if len(scores) == 0 {
		return refuse(skip)
	}
	c.interPodScores = scores
	return nil
}

// addPreferred adds the weights of the preferred terms that a pod matches for the domains of a node: the terms' owner, or the pod, is there.
func (m termCounts) addPreferred(terms affinityTerms, pod *v1.Pod, namespace labels.Set, node *v1.Node) {
	for _, term := range terms.preferred {
		if term.matches(pod, namespace) {
			m.add(node, term.key, term.weight)
		}
	}
	for _, term := range terms.preferredAntiAffinity {
		if term.matches(pod, namespace) {
			m.add(node, term.key, -term.weight)
		}
	}
}

// Score returns the sum for the node's domains.
// Upstream: interpodaffinity/scoring.go Score, v1.37.
func (interPodAffinity) Score(c *cycle, node *nodeInfo) (score int64) {
	for key, value := range node.node.Labels { // a sum
		score += c.interPodScores[topologyPair{key, value}]
	}
	return score
}

// NormalizeScore stretches the scores from the least to the greatest.
// Upstream: interpodaffinity/scoring.go NormalizeScore, v1.37.
func (interPodAffinity) NormalizeScore(scores []int64) {
	least, most := slices.Min(scores), slices.Max(scores)
	for i, score := range scores {
		scores[i] = 0
		if most > least {
			scores[i] = int64(maxNodeScore * (float64(score-least) / float64(most-least)))
		}
	}
}
