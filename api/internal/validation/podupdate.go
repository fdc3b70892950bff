package validation

import (
	"fmt"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/storagesim/storagesim/api/internal/containers"
)

const podImmutable = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`," +
	"`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations)," +
	"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"

// podUpdate lets a pod change its images, shorten its deadline, tolerate more
// and lose scheduling gates. The rest of the spec must not change: the pod was scheduled with it.
// Upstream: core/validation ValidatePodUpdate, v1.37.
func (p *problems) podUpdate(pod, old *v1.Pod) {
	if len(pod.Annotations)+len(old.Annotations) > 0 {
		p.mirrorAnnotation(pod.Annotations, old.Annotations)
	}
	if apiequality.Semantic.DeepEqual(&pod.Spec, &old.Spec) { // and that spec is good
		if len(pod.Annotations) > 0 {
			p.podAnnotations(pod.Annotations, &pod.Spec, metadataPath.Child("annotations"))
		}
		return
	}
	p.pod(pod)
	groups, oldGroups := containers.Groups(&pod.Spec), containers.Groups(&old.Spec)
	for i := range groups {
		if len(groups[i].Containers) != len(oldGroups[i].Containers) {
			p.forbidden(specPath.Child(groups[i].Name), "pod updates may not add or remove containers")
			return
		}
	}
	if !p.deadlineUpdate(pod.Spec.ActiveDeadlineSeconds, old.Spec.ActiveDeadlineSeconds) {
		return
	}
	p.tolerationsUpdate(pod.Spec.Tolerations, old.Spec.Tolerations)
	p.gatesUpdate(pod.Spec.SchedulingGates, old.Spec.SchedulingGates)
	gated := len(old.Spec.SchedulingGates) > 0
	if gated {
		p.nodeSelectorUpdate(pod.Spec.NodeSelector, old.Spec.NodeSelector)
		p.nodeAffinityUpdate(requiredTerms(pod.Spec.Affinity), requiredTerms(old.Spec.Affinity))
	}
	if munged := mungedPodSpec(&pod.Spec, &old.Spec, gated); !apiequality.Semantic.DeepEqual(munged, &old.Spec) {
		p.forbidden(specPath, fmt.Sprintf("%s\n%v", podImmutable, diff.Diff(internalForm{old.Spec}, internalForm{*munged})))
	}
}

// deadlineUpdate reports whether the other rules still make sense.
func (p *problems) deadlineUpdate(deadline, old *int64) bool {
	at := specPath.Child("activeDeadlineSeconds")
	switch {
	case deadline == nil && old != nil:
		p.invalid(at, deadline, "must not update from a positive integer to nil value")
	case deadline == nil:
	case *deadline < 0 || *deadline > math.MaxInt32:
		p.invalid(at, *deadline, validation.InclusiveRangeError(0, math.MaxInt32))
		return false
	case old != nil && *deadline > *old:
		p.invalid(at, *deadline, "must be less than or equal to previous value")
		return false
	}
	return true
}

func (p *problems) tolerationsUpdate(tolerations, old []v1.Toleration) {
	for _, was := range old {
		found := false
		for _, is := range tolerations {
			is.TolerationSeconds = was.TolerationSeconds
			found = found || is == was
		}
		if !found {
			p.forbidden(specPath.Child("tolerations"), "existing toleration can not be modified except its tolerationSeconds")
			return
		}
	}
}

func (p *problems) gatesUpdate(gates, old []v1.PodSchedulingGate) {
	for i, gate := range gates {
		if !slices.Contains(old, gate) {
			p.forbidden(specPath.Child("schedulingGates").Index(i).Child("name"),
				"only deletion is allowed, but found new scheduling gate '"+gate.Name+"'")
		}
	}
}

// nodeSelectorUpdate lets the selector of a gated pod grow.
// Upstream: core/validation validateNodeSelectorMutation, v1.37.
func (p *problems) nodeSelectorUpdate(selector, old map[string]string) {
	for key, value := range old {
		if is, ok := selector[key]; !ok || is != value {
			p.invalid(specPath.Child("nodeSelector"), selector, "only additions to spec.nodeSelector are allowed (no mutations or deletions)")
			return
		}
	}
}

// nodeAffinityUpdate lets each term of a gated pod's node affinity grow.
// Upstream: core/validation validateNodeAffinityMutation, v1.37.
func (p *problems) nodeAffinityUpdate(terms, old []v1.NodeSelectorTerm) {
	if len(old) == 0 {
		return
	}
	at := specPath.Child("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
	if len(terms) != len(old) {
		p.invalid(at, terms, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")
		return
	}
	for i := range old {
		is, was := &terms[i], &old[i]
		empty := len(was.MatchExpressions)+len(was.MatchFields) == 0 && len(is.MatchExpressions)+len(is.MatchFields) > 0
		if empty || !startsWith(is.MatchExpressions, was.MatchExpressions) || !startsWith(is.MatchFields, was.MatchFields) {
			p.invalid(at.Index(i), *is, "only additions are allowed (no mutations or deletions)")
		}
	}
}

func requiredTerms(a *v1.Affinity) []v1.NodeSelectorTerm {
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	return a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
}

func startsWith(list, start []v1.NodeSelectorRequirement) bool {
	return len(list) >= len(start) && apiequality.Semantic.DeepEqual(list[:len(start)], start)
}

// mungedPodSpec returns the spec with the old values of what may change. A gated pod
// may also narrow down its nodes.
func mungedPodSpec(spec, old *v1.PodSpec, gated bool) *v1.PodSpec {
	munged := *spec
	munged.Containers = withImages(spec.Containers, old.Containers)
	munged.InitContainers = withImages(spec.InitContainers, old.InitContainers)
	munged.ActiveDeadlineSeconds = old.ActiveDeadlineSeconds
	munged.SchedulingGates = old.SchedulingGates
	munged.Tolerations = old.Tolerations
	if was, is := old.TerminationGracePeriodSeconds, spec.TerminationGracePeriodSeconds; was != nil && *was < 0 && is != nil && *is == 1 {
		munged.TerminationGracePeriodSeconds = was
	}
	if gated {
		munged.NodeSelector = old.NodeSelector
		munged.Affinity = withNodeAffinity(spec.Affinity, old.Affinity)
	}
	return &munged
}

func withImages(containers, old []v1.Container) []v1.Container {
	munged := slices.Clone(containers)
	for i := range munged {
		munged[i].Image = old[i].Image
	}
	return munged
}

func withNodeAffinity(affinity, old *v1.Affinity) *v1.Affinity {
	var munged v1.Affinity
	if affinity != nil {
		munged = *affinity
	}
	munged.NodeAffinity = nil
	if old != nil {
		munged.NodeAffinity = old.NodeAffinity
	}
	if old == nil && munged == (v1.Affinity{}) {
		return nil
	}
	return &munged
}
