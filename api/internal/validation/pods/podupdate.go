package pods

import (
	"fmt"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/diff"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/storagesim/storagesim/api/internal/containers"
	"github.com/storagesim/storagesim/api/internal/validation"
	"github.com/storagesim/storagesim/internal/semantic"
)

const podImmutable = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`," +
	"`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations)," +
	"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"

// checkPodUpdate lets a pod change its images, shorten its deadline, tolerate more
// and lose scheduling gates. The rest of the spec must not change: the pod was scheduled with it.
// Upstream: core/validation ValidatePodUpdate, v1.37.
func checkPodUpdate(p *validation.Problems, pod, old *v1.Pod) {
	if len(pod.Annotations)+len(old.Annotations) > 0 {
		checkMirrorAnnotation(p, pod.Annotations, old.Annotations)
	}
	if semantic.Equal(&pod.Spec, &old.Spec) { // and that spec is good
		if len(pod.Annotations) > 0 {
			checkPodAnnotations(p, pod.Annotations, &pod.Spec, validation.MetadataPath.Child("annotations"))
		}
		return
	}
	checkPod(p, pod)
	groups, oldGroups := containers.Groups(&pod.Spec), containers.Groups(&old.Spec)
	for i := range groups {
		if len(groups[i].Containers) != len(oldGroups[i].Containers) {
			p.Forbidden(validation.SpecPath.Child(groups[i].Name), "pod updates may not add or remove containers")
			return
		}
	}
	if !checkDeadlineUpdate(p, pod.Spec.ActiveDeadlineSeconds, old.Spec.ActiveDeadlineSeconds) {
		return
	}
	checkTolerationsUpdate(p, pod.Spec.Tolerations, old.Spec.Tolerations)
	checkGatesUpdate(p, pod.Spec.SchedulingGates, old.Spec.SchedulingGates)
	gated := len(old.Spec.SchedulingGates) > 0
	if gated {
		checkNodeSelectorUpdate(p, pod.Spec.NodeSelector, old.Spec.NodeSelector)
		checkNodeAffinityUpdate(p, requiredTerms(pod.Spec.Affinity), requiredTerms(old.Spec.Affinity))
	}
	if munged := mungedPodSpec(&pod.Spec, &old.Spec, gated); !semantic.Equal(munged, &old.Spec) {
		stored := old.Spec.DeepCopy()
		validation.ForgetEmpty(stored)
		p.Forbidden(validation.SpecPath, fmt.Sprintf("%s\n%v", podImmutable,
			diff.Diff(validation.InternalForm{Value: *stored}, validation.InternalForm{Value: *mungedPodSpec(&pod.Spec, stored, gated)})))
	}
}

// checkDeadlineUpdate reports whether the other rules still make sense.
func checkDeadlineUpdate(p *validation.Problems, deadline, old *int64) bool {
	at := validation.SpecPath.Child("activeDeadlineSeconds")
	switch {
	case deadline == nil && old != nil:
		p.Invalid(at, deadline, "must not update from a positive integer to nil value")
	case deadline == nil:
	case *deadline < 0 || *deadline > math.MaxInt32:
		p.Invalid(at, *deadline, utilvalidation.InclusiveRangeError(0, math.MaxInt32))
		return false
	case old != nil && *deadline > *old:
		p.Invalid(at, *deadline, "must be less than or equal to previous value")
		return false
	}
	return true
}

func checkTolerationsUpdate(p *validation.Problems, tolerations, old []v1.Toleration) {
	for _, was := range old {
		found := false
		for _, is := range tolerations {
			is.TolerationSeconds = was.TolerationSeconds
			found = found || is == was
		}
		if !found {
			p.Forbidden(validation.SpecPath.Child("tolerations"), "existing toleration can not be modified except its tolerationSeconds")
			return
		}
	}
}

func checkGatesUpdate(p *validation.Problems, gates, old []v1.PodSchedulingGate) {
	for i, gate := range gates {
		if !slices.Contains(old, gate) {
			p.Forbidden(validation.SpecPath.Child("schedulingGates").Index(i).Child("name"),
				"only deletion is allowed, but found new scheduling gate '"+gate.Name+"'")
		}
	}
}

// checkNodeSelectorUpdate lets the selector of a gated pod grow.
// Upstream: core/validation validateNodeSelectorMutation, v1.37.
func checkNodeSelectorUpdate(p *validation.Problems, selector, old map[string]string) {
	for key, value := range old {
		if is, ok := selector[key]; !ok || is != value {
			p.Invalid(validation.SpecPath.Child("nodeSelector"), selector, "only additions to spec.nodeSelector are allowed (no mutations or deletions)")
			return
		}
	}
}

// checkNodeAffinityUpdate lets each term of a gated pod's node affinity grow.
// Upstream: core/validation validateNodeAffinityMutation, v1.37.
func checkNodeAffinityUpdate(p *validation.Problems, terms, old []v1.NodeSelectorTerm) {
	if len(old) == 0 {
		return
	}
	at := validation.SpecPath.Child("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
	if len(terms) != len(old) {
		p.Invalid(at, terms, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")
		return
	}
	for i := range old {
		is, was := &terms[i], &old[i]
		empty := len(was.MatchExpressions)+len(was.MatchFields) == 0 && len(is.MatchExpressions)+len(is.MatchFields) > 0
		if empty || !startsWith(is.MatchExpressions, was.MatchExpressions) || !startsWith(is.MatchFields, was.MatchFields) {
			p.Invalid(at.Index(i), *is, "only additions are allowed (no mutations or deletions)")
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
	return len(list) >= len(start) && semantic.Equal(list[:len(start)], start)
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
