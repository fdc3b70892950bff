package scheduler

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/storagesim/storagesim/control"
)

// interPodAffinity places pods near to other pods, or far from them, as both sides' terms say.
// Upstream: plugins/interpodaffinity, v1.37.
type interPodAffinity struct {
	caches  *caches
	cluster *clusterState
}

func (interPodAffinity) Name() string  { return "InterPodAffinity" }
func (interPodAffinity) Weight() int64 { return 2 }

// affinityTerm is a term of a pod's affinity to other pods, or anti-affinity.
// Upstream: kube-scheduler framework AffinityTerm and WeightedAffinityTerm, v1.37.
type affinityTerm struct {
	namespaces map[string]bool
	// byLabels selects further namespaces.
	byLabels labels.Selector
	selector labels.Selector
	key      string
	weight   int64 // of a preferred term
}

// matches reports whether the term is about a pod. namespace has the labels of the pod's namespace, nil if they do not matter.
// Upstream: AffinityTerm.Matches, v1.37.
func (t affinityTerm) matches(pod *v1.Pod, namespace labels.Set) bool {
	return (t.namespaces[pod.Namespace] || t.byLabels.Matches(namespace)) && t.selector.Matches(labels.Set(pod.Labels))
}

// affinityTerms holds all terms of a pod.
type affinityTerms struct {
	affinity, antiAffinity           []affinityTerm // required
	preferred, preferredAntiAffinity []affinityTerm
}

// affinityTermsOf reads the terms of a pod; nil if it has neither affinity nor anti-affinity to pods.
// Upstream: framework PodInfo.Update, v1.37.
func affinityTermsOf(pod *v1.Pod) (*affinityTerms, error) {
	a := pod.Spec.Affinity
	if a == nil || a.PodAffinity == nil && a.PodAntiAffinity == nil {
		return nil, nil
	}
	terms := &affinityTerms{}
	var firstErr error
	read := func(list []v1.PodAffinityTerm, weighted []v1.WeightedPodAffinityTerm) (required, preferred []affinityTerm) {
		add := func(to []affinityTerm, term v1.PodAffinityTerm, weight int32) []affinityTerm {
			read, err := newAffinityTerm(pod, term, weight)
			if err != nil && firstErr == nil {
				firstErr = err
			}
			return append(to, read)
		}
		for _, term := range list {
			required = add(required, term, 0)
		}
		for _, term := range weighted {
			preferred = add(preferred, term.PodAffinityTerm, term.Weight)
		}
		return required, preferred
	}
	if with := a.PodAffinity; with != nil {
		terms.affinity, terms.preferred = read(with.RequiredDuringSchedulingIgnoredDuringExecution, with.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if without := a.PodAntiAffinity; without != nil {
		terms.antiAffinity, terms.preferredAntiAffinity = read(without.RequiredDuringSchedulingIgnoredDuringExecution,
			without.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if firstErr != nil {
		return nil, firstErr
	}
	return terms, nil
}

// newAffinityTerm reads a term. With neither namespaces nor their selector, it is about the pod's own namespace.
// Upstream: kube-scheduler framework newAffinityTerm, getNamespacesFromPodAffinityTerm, v1.37.
func newAffinityTerm(pod *v1.Pod, term v1.PodAffinityTerm, weight int32) (affinityTerm, error) {
	t := affinityTerm{namespaces: map[string]bool{}, key: term.TopologyKey, weight: int64(weight)}
	if len(term.Namespaces) == 0 && term.NamespaceSelector == nil {
		t.namespaces[pod.Namespace] = true
	}
	for _, name := range term.Namespaces {
		t.namespaces[name] = true
	}
	var err error
	if t.selector, err = metav1.LabelSelectorAsSelector(term.LabelSelector); err == nil {
		t.byLabels, err = metav1.LabelSelectorAsSelector(term.NamespaceSelector)
	}
	return t, err
}

// matchesAll reports whether the pod matches all terms, if there are any.
// Upstream: interpodaffinity/filtering.go podMatchesAllAffinityTerms, v1.37.
func matchesAll(terms []affinityTerm, pod *v1.Pod) bool {
	return len(terms) > 0 && !slices.ContainsFunc(terms, func(t affinityTerm) bool { return !t.matches(pod, nil) })
}

// matchesAny reports whether the pod matches one of the terms.
// Upstream: interpodaffinity/filtering.go podMatchesAnyAffinityTerms, v1.37.
func matchesAny(terms []affinityTerm, pod *v1.Pod) bool {
	return slices.ContainsFunc(terms, func(t affinityTerm) bool { return t.matches(pod, nil) })
}

// incoming reads the terms of the pod to be placed. The namespaces that their selectors select are named in them.
// Upstream: interpodaffinity/plugin.go mergeAffinityTermNamespacesIfNotEmpty, v1.37.
func (p interPodAffinity) incoming(pod *v1.Pod) (affinityTerms, error) {
	terms, err := affinityTermsOf(pod)
	if err != nil || terms == nil {
		return affinityTerms{}, err
	}
	for _, list := range [][]affinityTerm{terms.affinity, terms.antiAffinity, terms.preferred, terms.preferredAntiAffinity} {
		for i := range list {
			t := &list[i]
			if t.byLabels.Empty() {
				continue
			}
			for _, namespace := range p.caches.listNamespaces() {
				if t.byLabels.Matches(labels.Set(namespace.Labels)) {
					t.namespaces[namespace.Name] = true
				}
			}
			t.byLabels = labels.Nothing()
		}
	}
	return *terms, nil
}

// namespaceLabels returns the labels of a pod's namespace.
// Upstream: interpodaffinity/plugin.go GetNamespaceLabelsSnapshot, v1.37.
func (p interPodAffinity) namespaceLabels(pod *v1.Pod) labels.Set {
	if p.caches.namespaces == nil {
		return nil
	}
	namespace, _ := p.caches.namespaces.Get(pod.Namespace)
	if namespace == nil {
		return nil
	}
	return namespace.Labels
}

// followNamespaces begins to follow namespaces when the first pod comes whose terms select namespaces by their labels: in a cluster
// without one, nothing depends on them.
func (c *caches) followNamespaces(env control.Env, pod *v1.Pod) {
	if c.namespaces == nil && selectsNamespaces(pod) {
		c.namespaces = control.NewCacheAtOnce[*v1.Namespace](env, v1.SchemeGroupVersion.WithResource("namespaces"))
	}
}

// selectsNamespaces reports whether a term of the pod's affinity chooses namespaces by their labels.
func selectsNamespaces(pod *v1.Pod) bool {
	terms, err := affinityTermsOf(pod)
	if err != nil || terms == nil {
		return false
	}
	selects := func(t affinityTerm) bool { _, selectable := t.byLabels.Requirements(); return selectable }
	return slices.ContainsFunc(slices.Concat(terms.affinity, terms.antiAffinity, terms.preferred, terms.preferredAntiAffinity), selects)
}

func (c *caches) listNamespaces() []*v1.Namespace {
	if c.namespaces == nil {
		return nil
	}
	return c.namespaces.List()
}

// Upstream: interpodaffinity/plugin.go EventsToRegister, v1.37.
func (p interPodAffinity) EventsToRegister() []registration {
	return []registration{
		upon(added|updated|deleted, isSchedulableAfterAffinePodChange),
		upon(added|updateNodeLabel, isSchedulableAfterTopologyChange),
	}
}

// isSchedulableAfterAffinePodChange: the labels of the pod itself change, a pod comes that has all that its affinity wants, or one goes
// that kept it off.
// Upstream: interpodaffinity/plugin.go isSchedulableAfterAssignedPodChange, isSchedulableAfterTargetPodUpdateLabel, v1.37.
func isSchedulableAfterAffinePodChange(pod, before, after *v1.Pod) bool {
	if before != nil && after != nil && after.UID == pod.UID {
		return !maps.Equal(before.Labels, after.Labels)
	}
	for _, other := range []*v1.Pod{before, after} {
		if other != nil && !hasPlace(other) {
			return false
		}
	}
	terms, err := affinityTermsOf(pod)
	if err != nil {
		return true
	}
	if terms == nil {
		terms = &affinityTerms{}
	}
	switch {
	case before != nil && after != nil:
		return !matchesAll(terms.affinity, before) && matchesAll(terms.affinity, after) ||
			matchesAny(terms.antiAffinity, before) && !matchesAny(terms.antiAffinity, after)
	case after != nil:
		return matchesAll(terms.affinity, after)
	case matchesAny(terms.antiAffinity, before):
		return true
	}
	theirs, err := affinityTermsOf(before)
	return err != nil || theirs != nil && matchesAny(theirs.antiAffinity, pod)
}

// isSchedulableAfterTopologyChange: a node comes, or moves to another domain of one of the pod's terms.
// Upstream: interpodaffinity/plugin.go isSchedulableAfterNodeChange, v1.37.
func isSchedulableAfterTopologyChange(pod *v1.Pod, before, after *v1.Node) bool {
	terms, err := affinityTermsOf(pod)
	if err != nil || terms == nil {
		return err != nil
	}
	if before == nil {
		comes := func(t affinityTerm) bool { _, has := after.Labels[t.key]; return has }
		return len(terms.antiAffinity) > 0 || slices.ContainsFunc(terms.affinity, comes)
	}
	return slices.ContainsFunc(terms.affinity, func(t affinityTerm) bool {
		had, was := before.Labels[t.key]
		has, is := after.Labels[t.key]
		return is && (!was || had != has)
	}) || slices.ContainsFunc(terms.antiAffinity, func(t affinityTerm) bool {
		had, was := before.Labels[t.key]
		has, is := after.Labels[t.key]
		return was && (!is || had != has)
	})
}
