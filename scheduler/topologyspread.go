package scheduler

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/storagesim/storagesim/control"
)

// The reasons are upstream's.
const (
	reasonSpread      = "node(s) didn't match pod topology spread constraints"
	reasonSpreadLabel = reasonSpread + " (missing required label)"
)

// systemDefaultConstraints returns the constraints of pods that have none of their own: pods of one
// service, ReplicaSet, ReplicationController or StatefulSet spread over nodes and zones.
// Upstream: podtopologyspread/plugin.go systemDefaultConstraints, v1.37.
func systemDefaultConstraints() []v1.TopologySpreadConstraint {
	return []v1.TopologySpreadConstraint{
		{TopologyKey: v1.LabelHostname, WhenUnsatisfiable: v1.ScheduleAnyway, MaxSkew: 3},
		{TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.ScheduleAnyway, MaxSkew: 5},
	}
}

// topologySpread spreads pods over nodes, zones and other domains.
// Upstream: plugins/podtopologyspread, v1.37.
type topologySpread struct {
	caches  *caches
	cluster *clusterState
}

func (topologySpread) Name() string  { return "PodTopologySpread" }
func (topologySpread) Weight() int64 { return 2 }

// spreadConstraint is a constraint of the pod of this cycle.
// Upstream: podtopologyspread/common.go topologySpreadConstraint, v1.37.
type spreadConstraint struct {
	key           string
	maxSkew       int
	minDomains    int
	selector      labels.Selector
	honorAffinity bool
	honorTaints   bool

	// counts are the matching pods of each domain that counts.
	counts map[string]int
	weight float64 // Score only
}

// constraintsOf returns the pod's constraints of a kind, or the defaults for it.
// Upstream: podtopologyspread getConstraints, initPreScoreState, buildDefaultConstraints, v1.37.
func (p topologySpread) constraintsOf(pod *v1.Pod, action v1.UnsatisfiableConstraintAction) ([]*spreadConstraint, error) {
	if len(pod.Spec.TopologySpreadConstraints) > 0 {
		return filterConstraints(pod.Spec.TopologySpreadConstraints, pod.Labels, action)
	}
	constraints, err := filterConstraints(systemDefaultConstraints(), pod.Labels, action)
	if err != nil || len(constraints) == 0 {
		return nil, err
	}
	selector := p.defaultSelector(pod)
	if selector.Empty() {
		return nil, nil
	}
	for _, c := range constraints {
		c.selector = selector
	}
	return constraints, nil
}

// filterConstraints reads the constraints of a kind.
// Upstream: podtopologyspread/common.go filterTopologySpreadConstraints, v1.37.
func filterConstraints(list []v1.TopologySpreadConstraint, podLabels labels.Set, action v1.UnsatisfiableConstraintAction) ([]*spreadConstraint, error) {
	var constraints []*spreadConstraint
	for _, c := range list {
		if c.WhenUnsatisfiable != action {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
		if err != nil {
			return nil, fmt.Errorf("obtaining pod's topology spread constraints: %w", err)
		}
		s := &spreadConstraint{key: c.TopologyKey, maxSkew: int(c.MaxSkew), minDomains: 1, selector: withLabelKeys(selector, c.MatchLabelKeys, podLabels)}
		if c.MinDomains != nil {
			s.minDomains = int(*c.MinDomains)
		}
		s.honorAffinity = c.NodeAffinityPolicy == nil || *c.NodeAffinityPolicy == v1.NodeInclusionPolicyHonor
		s.honorTaints = c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == v1.NodeInclusionPolicyHonor
		constraints = append(constraints, s)
	}
	return constraints, nil
}

// withLabelKeys adds to a selector that these labels are as the pod's.
func withLabelKeys(selector labels.Selector, keys []string, podLabels labels.Set) labels.Selector {
	same := labels.Set{}
	for _, key := range keys {
		if value, ok := podLabels[key]; ok {
			same[key] = value
		}
	}
	requirements, selectable := selector.Requirements()
	if len(same) == 0 || !selectable {
		return selector
	}
	return labels.SelectorFromSet(same).Add(requirements...)
}

// defaultSelector selects the pods that belong together with this one: those of its
// services and of its controller.
// Upstream: plugins/helper/spread.go DefaultSelector, v1.37.
func (p topologySpread) defaultSelector(pod *v1.Pod) labels.Selector {
	set := labels.Set{}
	for _, service := range p.caches.services.ByIndex(byNamespace, pod.Namespace) {
		if wanted := labels.Set(service.Spec.Selector); wanted != nil && wanted.AsSelectorPreValidated().Matches(labels.Set(pod.Labels)) {
			set = labels.Merge(set, wanted)
		}
	}
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return set.AsSelector()
	}
	key := pod.Namespace + "/" + owner.Name
	var wanted *metav1.LabelSelector
	switch owner.APIVersion + " " + owner.Kind {
	case v1.SchemeGroupVersion.String() + " ReplicationController":
		if rc, ok := p.caches.replicationControllers.Get(key); ok {
			set = labels.Merge(set, rc.Spec.Selector)
		}
	case appsv1.SchemeGroupVersion.String() + " ReplicaSet":
		if rs, ok := p.caches.replicaSets.Get(key); ok {
			wanted = rs.Spec.Selector
		}
	case appsv1.SchemeGroupVersion.String() + " StatefulSet":
		if ss, ok := p.caches.statefulSets.Get(key); ok {
			wanted = ss.Spec.Selector
		}
	}
	selector := set.AsSelector()
	if other, err := metav1.LabelSelectorAsSelector(wanted); wanted != nil && err == nil {
		requirements, _ := other.Requirements()
		selector = selector.Add(requirements...)
	}
	return selector
}

// includes reports whether the pods of a node count for the constraint.
// Upstream: podtopologyspread/common.go matchNodeInclusionPolicies, v1.37.
func (c *spreadConstraint) includes(pod *v1.Pod, node *nodeInfo) bool {
	if c.honorAffinity {
		if match, _ := matchesNode(pod, node.node); !match {
			return false
		}
	}
	return !c.honorTaints || untolerated(pod, node.taints) == nil
}

// matching counts the node's pods that the constraint is about. Those that end do not count.
// Upstream: podtopologyspread/common.go countPodsMatchSelector, v1.37.
func (c *spreadConstraint) matching(node *nodeInfo, namespace string) (n int) {
	if c.selector.Empty() {
		return 0
	}
	for _, p := range node.placed {
		if p.pod.DeletionTimestamp == nil && p.pod.Namespace == namespace && c.selector.Matches(labels.Set(p.pod.Labels)) {
			n++
		}
	}
	return n
}

// hasTopologies: the node has the labels of all constraints.
// Upstream: podtopologyspread/common.go nodeLabelsMatchSpreadConstraints, v1.37.
func hasTopologies(node *v1.Node, constraints []*spreadConstraint) bool {
	return !slices.ContainsFunc(constraints, func(c *spreadConstraint) bool {
		_, ok := node.Labels[c.key]
		return !ok
	})
}

// byNamespace indexes services.
const byNamespace = "namespace"

func namespaceOf[T control.Object](obj T) []string { return []string{obj.GetNamespace()} }
