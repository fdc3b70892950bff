// Package schedworld makes random worlds of nodes and pods for the scheduler's rules. conformance/interop/scheduling asks upstream's own plugins
// about them and keeps the answers in scheduler/testdata, with which the tests of package scheduler compare ours.
package schedworld

import (
	"fmt"
	"math/rand/v2"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// World has nodes with pods on them, and one more pod that is to be placed.
type World struct {
	Namespaces []*v1.Namespace
	Nodes      []*v1.Node
	Placed     []*v1.Pod
	Pod        *v1.Pod
}

// chance draws what a world is made of.
type chance struct{ *rand.Rand }

// one returns one of some texts.
func (c chance) one(of ...string) string { return of[c.IntN(len(of))] }

// often returns true n times out of ten.
func (c chance) often(n int) bool { return c.IntN(10) < n }

// Affinity makes the world of a seed in which pods want to be near to others, or far from them.
func Affinity(seed uint64) *World {
	c := chance{rand.New(rand.NewPCG(seed, 0))}
	w := &World{}
	for _, name := range []string{"default", "shop", "lab"} {
		ns := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if c.often(6) {
			ns.Labels = map[string]string{"team": c.one("a", "b")}
		}
		w.Namespaces = append(w.Namespaces, ns)
	}
	for i := range 2 + c.IntN(5) {
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i), Labels: map[string]string{}}}
		if c.often(9) {
			node.Labels[v1.LabelHostname] = node.Name
		}
		if c.often(8) {
			node.Labels[v1.LabelTopologyZone] = c.one("east", "west", "north")
		}
		w.Nodes = append(w.Nodes, node)
	}
	for i := range c.IntN(9) {
		pod := c.pod(fmt.Sprintf("placed-%d", i))
		pod.Spec.NodeName = w.Nodes[c.IntN(len(w.Nodes))].Name
		w.Placed = append(w.Placed, pod)
	}
	w.Pod = c.pod("pod")
	return w
}

func (c chance) pod(name string) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: c.one("default", "shop", "lab"), UID: types.UID(name), Labels: map[string]string{"app": c.one("web", "db", "cache")},
	}}
	if c.often(4) {
		pod.Labels["tier"] = c.one("front", "back")
	}
	if c.often(5) {
		pod.Spec.Affinity = &v1.Affinity{}
		if c.often(6) {
			required, preferred := c.terms()
			pod.Spec.Affinity.PodAffinity = &v1.PodAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: required, PreferredDuringSchedulingIgnoredDuringExecution: preferred,
			}
		}
		if c.often(6) {
			required, preferred := c.terms()
			pod.Spec.Affinity.PodAntiAffinity = &v1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: required, PreferredDuringSchedulingIgnoredDuringExecution: preferred,
			}
		}
	}
	return pod
}

func (c chance) terms() (required []v1.PodAffinityTerm, preferred []v1.WeightedPodAffinityTerm) {
	for range c.IntN(3) {
		required = append(required, c.term())
	}
	for range c.IntN(3) {
		preferred = append(preferred, v1.WeightedPodAffinityTerm{Weight: int32(1 + c.IntN(100)), PodAffinityTerm: c.term()})
	}
	return required, preferred
}

// term draws a term. One without a selector of labels selects no pod, and one with an empty selector of namespaces all of them.
func (c chance) term() v1.PodAffinityTerm {
	term := v1.PodAffinityTerm{TopologyKey: c.one(v1.LabelHostname, v1.LabelTopologyZone, v1.LabelTopologyZone, "rack")}
	switch {
	case c.often(1):
	case c.often(1):
		term.LabelSelector = &metav1.LabelSelector{}
	case c.often(3):
		operator := []metav1.LabelSelectorOperator{metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn}[c.IntN(2)]
		term.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: operator, Values: []string{"front"}}}}
	default:
		term.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": c.one("web", "db", "cache")}}
	}
	if c.often(2) {
		term.Namespaces = []string{c.one("default", "shop", "lab")}
	}
	switch {
	case c.often(1):
		term.NamespaceSelector = &metav1.LabelSelector{}
	case c.often(2):
		term.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": c.one("a", "b")}}
	}
	return term
}
