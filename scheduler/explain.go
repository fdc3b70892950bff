package scheduler

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/control"
)

// Explanation says where a pod could run, and why not elsewhere.
type Explanation struct {
	// Pod is its key.
	Pod string
	// Node is where the pod runs; then nothing else is set.
	Node string
	// PreFilter is why no node is looked at, "" if they are.
	PreFilter string
	// Nodes has a verdict for each node, by name.
	Nodes []NodeVerdict
}

// NodeVerdict is whether one node could take the pod, and why not.
type NodeVerdict struct {
	Node string
	// Plugin turned the node down, for example "VolumeBinding"; "" if none did.
	Plugin string
	// Reasons are the plugin's, in upstream's words.
	Reasons []string
	// Conflicts are the reasons claim by claim, if the plugin is VolumeBinding.
	Conflicts Conflicts
}

// String is a line without an end: "node-1: pvc default/data: ...".
func (v NodeVerdict) String() string {
	if v.Plugin == "" {
		return v.Node + ": fits"
	}
	if len(v.Conflicts) == 0 {
		return v.Node + ": " + strings.Join(v.Reasons, ", ")
	}
	parts := make([]string, len(v.Conflicts))
	for i, c := range v.Conflicts {
		parts[i] = fmt.Sprintf("pvc %s: %s", c.Claim, c.Detail)
	}
	return v.Node + ": " + strings.Join(parts, ", ")
}

// Explain judges a pod against the objects of a cluster, as the scheduler would
// if its caches held exactly these: pods, nodes, volumes, claims, classes, CSI
// drivers and capacities; others do not matter. pod is "namespace/name". The
// error says that the pod is missing, or what upstream would report as
// SchedulerError.
func Explain(pod string, objects []runtime.Object) (Explanation, error) {
	s := stillScheduler(objects)
	answer := Explanation{Pod: pod}
	p, ok := s.caches.pods.Get(pod)
	if !ok {
		return answer, fmt.Errorf("there is no pod %s", pod)
	}
	if p.Spec.NodeName != "" {
		answer.Node = p.Spec.NodeName
		return answer, nil
	}
	c := newCycle(p, &queuedPod{})
	if st := s.plugins.runPreFilterPlugins(c); st.is(failed) {
		return answer, st.asError()
	} else if st.stops() {
		answer.PreFilter = st.message()
		return answer, nil
	}
	filters := of[filterPlugin](s.plugins)
	for node := range s.cluster.all() {
		st := s.plugins.runFilterPlugins(filters, c, node)
		verdict := NodeVerdict{Node: node.node.Name}
		switch {
		case st.is(failed):
			return answer, st.asError()
		case !st.is(success):
			verdict.Plugin, verdict.Reasons, verdict.Conflicts = st.plugin, st.reasons, c.volumes.conflicts[node.node.Name]
		}
		answer.Nodes = append(answer.Nodes, verdict)
	}
	return answer, nil
}

// stillEnv drives nothing: its caches are filled once, by hand.
type stillEnv struct{ control.Env }

func (stillEnv) Follow(control.Feed) {}

// stillScheduler is a scheduler whose caches hold these objects.
func stillScheduler(objects []runtime.Object) *scheduler {
	s := newScheduler(Config{}, stillEnv{})
	fill(s.caches.nodes, objects)
	fill(s.caches.volumes, objects)
	fill(s.caches.claims, objects)
	fill(s.caches.classes, objects)
	fill(s.caches.drivers, objects)
	fill(s.caches.capacities, objects)
	fill(s.caches.pods, objects)
	for node := range s.caches.nodes.All() {
		s.cluster.setNode(node)
	}
	for pod := range s.caches.pods.All() {
		s.cluster.setPod(pod)
	}
	return s
}

func fill[T control.Object](cache *control.Cache[T], objects []runtime.Object) {
	var mine []runtime.Object
	for _, obj := range objects {
		if _, ok := obj.(T); ok {
			mine = append(mine, obj)
		}
	}
	cache.Replace(mine)
}
