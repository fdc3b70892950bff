package api

import (
	"math"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const podImmutable = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`," +
	"`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations)," +
	"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"

// podUpdate lets a pod change its images, shorten its deadline, tolerate more
// and lose scheduling gates. The rest of the spec is what was scheduled.
// Upstream: core/validation ValidatePodUpdate, v1.36.
func (p *problems) podUpdate(pod, old *v1.Pod) {
	if apiequality.Semantic.DeepEqual(&pod.Spec, &old.Spec) {
		return
	}
	p.podSpec(&pod.Spec, &pod.ObjectMeta, specPath)
	p.imageSpaces(&pod.Spec)
	groups, oldGroups := containerGroups(&pod.Spec), containerGroups(&old.Spec)
	for i := range groups {
		if len(groups[i].containers) != len(oldGroups[i].containers) {
			p.forbidden(specPath.Child(groups[i].name), "pod updates may not add or remove containers")
			return
		}
	}
	if !p.deadlineUpdate(pod.Spec.ActiveDeadlineSeconds, old.Spec.ActiveDeadlineSeconds) {
		return
	}
	p.tolerationsUpdate(pod.Spec.Tolerations, old.Spec.Tolerations)
	p.gatesUpdate(pod.Spec.SchedulingGates, old.Spec.SchedulingGates)
	if gated := len(old.Spec.SchedulingGates) > 0; !samePodSpec(&pod.Spec, &old.Spec, gated) {
		p.forbidden(specPath, podImmutable)
	} else if gated {
		p.nodeSelectorUpdate(pod.Spec.NodeSelector, old.Spec.NodeSelector)
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
		known := false
		for _, was := range old {
			known = known || was == gate
		}
		if !known {
			p.forbidden(specPath.Child("schedulingGates").Index(i).Child("name"),
				"only deletion is allowed, but found new scheduling gate '"+gate.Name+"'")
		}
	}
}

// nodeSelectorUpdate lets the selector of a gated pod grow.
func (p *problems) nodeSelectorUpdate(selector, old map[string]string) {
	for key, value := range old {
		if selector[key] != value {
			p.invalid(specPath.Child("nodeSelector"), selector, "only additions are allowed (no mutations or deletions)")
			return
		}
	}
}

// samePodSpec compares the specs but for what may change. A gated pod may also
// narrow down its nodes.
func samePodSpec(spec, old *v1.PodSpec, gated bool) bool {
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
	return apiequality.Semantic.DeepEqual(&munged, old)
}

func withImages(containers, old []v1.Container) []v1.Container {
	munged := make([]v1.Container, len(containers))
	for i := range containers {
		munged[i] = containers[i]
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

// podStatus validates a status update.
// Upstream: core/validation ValidatePodStatusUpdate, v1.36.
func (p *problems) podStatus(pod, old *v1.Pod) {
	if name := pod.Status.NominatedNodeName; name != "" && name != old.Status.NominatedNodeName {
		p.subdomain(name, statusPath.Child("nominatedNodeName"))
	}
	if pod.Status.QOSClass != old.Status.QOSClass {
		p.invalid(statusPath.Child("qosClass"), pod.Status.QOSClass, apivalidation.FieldImmutableErrorMsg)
	}
	for i := range pod.Status.Conditions {
		switch c := &pod.Status.Conditions[i]; c.Type {
		case v1.PodScheduled, v1.PodReady, v1.PodInitialized:
		default:
			p.qualifiedName(string(c.Type), metadataPath.Child("conditions").Index(i).Child("Type"))
		}
	}
	if old.Spec.RestartPolicy != v1.RestartPolicyAlways {
		p.restarts(pod.Status.ContainerStatuses, old.Status.ContainerStatuses, old.Spec.RestartPolicy, statusPath.Child("containerStatuses"))
	}
}

// restarts refuses to bring back a container that was to stay terminated.
func (p *problems) restarts(statuses, old []v1.ContainerStatus, policy v1.RestartPolicy, at *field.Path) {
	for i := range old {
		was := &old[i]
		if was.State.Terminated == nil || was.State.Terminated.ExitCode != 0 && policy == v1.RestartPolicyOnFailure {
			continue
		}
		for j := range statuses {
			if statuses[j].Name == was.Name && statuses[j].State.Terminated == nil {
				p.forbidden(at.Index(i).Child("state"), "may not be transitioned to non-terminated state")
			}
		}
	}
}
