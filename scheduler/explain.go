package scheduler

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/control"
)

// Explanation says where a pod could run, and why not elsewhere.
type Explanation struct {
	// Pod is its key.
	Pod string
	// Node is the pod's node, if it has one; then nothing else is set.
	Node string
	// PreFilter is why no node is looked at, in upstream's words; "" if they are.
	PreFilter string
	// Failure is the error that the attempt ends with, for which upstream gives the
	// reason SchedulerError; "" if it ends with a verdict.
	Failure string
	// Notes say in words what PreFilter leaves out, and what is odd about the pod's
	// claims.
	Notes []string
	// Nodes has a verdict for each node, by name.
	Nodes []NodeVerdict
}

// NodeVerdict says whether one node could take the pod, and why not.
type NodeVerdict struct {
	Node string
	// Plugin turned the node down, for example "VolumeBinding"; "" if none did.
	Plugin string
	// Reasons are the plugin's, in upstream's words.
	Reasons []string
	// Conflicts are the reasons claim by claim, if the plugin is VolumeBinding.
	Conflicts Conflicts
	// Detail says what exactly the plugin found wrong, if it is another one. Only
	// Explain sets it.
	Detail string
	// Claims say what each of the pod's claims would get on the node, whatever
	// plugin turned it down. Only Explain sets them.
	Claims []ClaimVerdict
}

// String returns a line without an end: "node-1: pvc default/data: ...".
func (v NodeVerdict) String() string {
	if v.Plugin == "" {
		return v.Node + ": fits"
	}
	if len(v.Conflicts) == 0 {
		line := v.Node + ": " + strings.Join(v.Reasons, ", ")
		if v.Detail != "" {
			line += ": " + v.Detail
		}
		return line
	}
	parts := make([]string, len(v.Conflicts))
	for i, c := range v.Conflicts {
		parts[i] = fmt.Sprintf("pvc %s: %s", c.Claim, c.Detail)
	}
	return v.Node + ": " + strings.Join(parts, ", ")
}

// Explain judges a pod against the objects of a cluster, as a scheduler of this
// configuration would if its caches held exactly these: pods, nodes, volumes, claims, classes, CSI
// drivers, nodes and capacities, attachments; others do not matter. pod is
// "namespace/name". The error says that there is no such pod, or what is wrong with cfg.
func Explain(cfg Config, pod string, objects []runtime.Object) (Explanation, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return Explanation{}, err
	}
	s := stillScheduler(cfg, objects)
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
	switch st := s.plugins.runPreFilterPlugins(c); {
	case st.is(failed):
		answer.Failure = st.message()
		return answer, nil
	case st.stops():
		answer.PreFilter = st.message()
		answer.Notes = s.refusalNotes(c)
		return answer, nil
	}
	answer.Notes = append(claimedTwice(c), s.forNobody(c)...)
	var feasible []*nodeInfo
	for _, node := range s.cluster.nodes {
		verdict := s.explainNode(c, node)
		if verdict.Plugin == "" {
			feasible = append(feasible, node)
		}
		answer.Nodes = append(answer.Nodes, verdict)
	}
	answer.Failure = s.plugins.runPreScorePlugins(c, feasible).message()
	return answer, nil
}

// explainNode filters one node, and says in words what came of it.
func (s *scheduler) explainNode(c *cycle, node *nodeInfo) NodeVerdict {
	st := excludedVerdict()
	if !c.excludes(node) {
		st = runFilterPlugins(s.plugins.filters(c), c, node)
	}
	verdict := NodeVerdict{Node: node.node.Name, Claims: s.explainClaims(c, node.node)}
	switch {
	case st.is(failed):
		verdict.Plugin, verdict.Reasons = st.plugin, []string{st.message()}
	case !st.is(success):
		verdict.Plugin, verdict.Reasons, verdict.Conflicts = st.plugin, st.reasons, s.conflicts(c, st.plugin, node.node.Name)
		verdict.Detail = s.why(c, st.plugin, node)
	}
	return verdict
}

// explaining is a plugin that can say in words why it turned a node down.
type explaining interface {
	plugin
	Why(c *cycle, node *nodeInfo) string
}

func (s *scheduler) why(c *cycle, name string, node *nodeInfo) string {
	plugins := of[explaining](s.plugins.all)
	i := slices.IndexFunc(plugins, func(p explaining) bool { return p.Name() == name })
	if i < 0 {
		return ""
	}
	return plugins[i].Why(c, node)
}

// stillEnv drives nothing: its caches are filled once, by hand.
type stillEnv struct{ control.Env }

func (stillEnv) Follow(control.Feed) {}

// stillScheduler returns a scheduler whose caches hold these objects.
func stillScheduler(cfg Config, objects []runtime.Object) *scheduler {
	s := newScheduler(cfg, stillEnv{})
	fill(s.caches.nodes, objects)
	fill(s.caches.volumes, objects)
	fill(s.caches.claims, objects)
	fill(s.caches.classes, objects)
	fill(s.caches.drivers, objects)
	fill(s.caches.capacities, objects)
	fill(s.caches.csiNodes, objects)
	fill(s.caches.attachments, objects)
	fill(s.caches.pods, objects)
	for node := range s.caches.nodes.All() {
		s.cluster.setNode(node)
	}
	for pod := range s.caches.pods.All() {
		s.caches.followNamespaces(s.env, pod)
		s.cluster.setPod(pod)
	}
	if s.caches.namespaces != nil {
		fill(s.caches.namespaces, objects)
	}
	return s
}

func fill[T control.Object](cache *control.Cache[T], objects []runtime.Object) {
	var mine []control.Item
	for _, obj := range objects {
		if typed, ok := obj.(T); ok {
			mine = append(mine, control.ItemOf(typed))
		}
	}
	cache.Replace(mine)
}
