package pods

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
	"github.com/storagesim/storagesim/internal/semantic"
)

// EphemeralContainersUpdate says what is wrong with pod as the successor of old, whose
// ephemeral containers alone differ: containers may be added, but not changed or removed.
// Upstream: core/validation ValidatePodEphemeralContainersUpdate, v1.37.2.
func EphemeralContainersUpdate(pod, old *v1.Pod) field.ErrorList {
	if _, mirror := old.Annotations[v1.MirrorPodAnnotationKey]; mirror {
		return field.ErrorList{field.Forbidden(field.NewPath(""), "static pods do not support ephemeral containers")}
	}
	p := podAgain(pod, old)
	at := validation.SpecPath.Child("ephemeralContainers")
	for _, was := range old.Spec.EphemeralContainers {
		i := slices.IndexFunc(pod.Spec.EphemeralContainers, func(is v1.EphemeralContainer) bool { return is.Name == was.Name })
		switch {
		case i < 0:
			p.Forbidden(at, fmt.Sprintf("existing ephemeral containers %q may not be removed\n", was.Name))
		case !semantic.Equal(was, pod.Spec.EphemeralContainers[i]):
			stored := was.DeepCopy()
			validation.ForgetEmpty(stored)
			p.Forbidden(at, fmt.Sprintf("existing ephemeral containers %q may not be changed\n%v", was.Name,
				diff.Diff(validation.InternalForm{Value: *stored}, validation.InternalForm{Value: pod.Spec.EphemeralContainers[i]})))
		}
	}
	return p.List
}

// podAgain validates a pod anew, as all updates of its parts do.
func podAgain(pod, old *v1.Pod) *validation.Problems {
	p := &validation.Problems{}
	validation.CheckUpdatedMeta(p, pod, old)
	checkPod(p, pod)
	checkMirrorAnnotation(p, pod.Annotations, old.Annotations)
	return p
}

// Resize says what is wrong with pod as the successor of old, of which only the resources of
// the pod and of its containers differ, and their resize policies. class is the quality of
// service that the resources make.
// Upstream: core/validation ValidatePodResize, v1.37.
func Resize(pod, old *v1.Pod, class v1.PodQOSClass) field.ErrorList {
	if _, mirror := old.Annotations[v1.MirrorPodAnnotationKey]; mirror {
		return field.ErrorList{field.Forbidden(field.NewPath(""), "static pods cannot be resized")}
	}
	if old.Spec.OS != nil && old.Spec.OS.Name == v1.Windows {
		return field.ErrorList{field.Forbidden(field.NewPath(""), "windows pods cannot be resized")}
	}
	p := podAgain(pod, old)
	if old.Status.QOSClass != class {
		p.Invalid(validation.SpecPath, pod.Status.QOSClass, "Pod QOS Class may not change as a result of resizing")
	}
	if !resizeSupported(old) {
		p.Forbidden(validation.SpecPath, "Pod running on node without support for resize")
	}
	munged := pod.Spec.DeepCopy()
	checkPodLevelResize(p, &pod.Spec, &old.Spec, munged)
	if !checkSameContainers(p, &pod.Spec, &old.Spec) {
		return p.List
	}
	checkContainersResize(p, &pod.Spec, &old.Spec, munged)
	if len(p.List) == 0 && !semantic.Equal(munged, &old.Spec) {
		p.Forbidden(validation.SpecPath, "only cpu and memory resources are mutable")
	}
	return p.List
}

// resizeSupported reports whether the pod's node can resize: one that can has the resources of
// running containers in their status.
// Upstream: core/validation isPodResizeRequestSupported, v1.37.
func resizeSupported(pod *v1.Pod) bool {
	i := slices.IndexFunc(pod.Status.ContainerStatuses, func(c v1.ContainerStatus) bool { return c.State.Running != nil })
	return i < 0 || pod.Status.ContainerStatuses[i].Resources != nil
}

// checkPodLevelResize checks the resources of the whole pod, and gives munged those of old as far as
// they may change.
// Upstream: core/validation validatePodLevelResourcesResize, v1.37.
func checkPodLevelResize(p *validation.Problems, is, was, munged *v1.PodSpec) {
	at := validation.SpecPath.Child("resources")
	switch {
	case is.Resources == nil && was.Resources == nil:
		return
	case is.Resources == nil:
		p.Forbidden(at, "pod-level resources cannot be removed")
		return
	case was.Resources == nil:
		mungeResources(munged.Resources, &v1.ResourceRequirements{})
		if len(munged.Resources.Requests)+len(munged.Resources.Limits)+len(munged.Resources.Claims) == 0 {
			munged.Resources = nil
		}
	default:
		if resourcesRemoved(is.Resources.Requests, was.Resources.Requests) {
			p.Forbidden(at.Child("requests"), "pod-level resource requests cannot be removed")
		}
		if resourcesRemoved(is.Resources.Limits, was.Resources.Limits) {
			p.Forbidden(at.Child("limits"), "pod-level resource limits cannot be removed")
		}
		mungeResources(munged.Resources, was.Resources)
	}
	if !semantic.Equal(munged.Resources, was.Resources) {
		p.Forbidden(validation.SpecPath, "only cpu and memory resources are mutable at pod-level")
	}
}

// checkSameContainers refuses other containers, or another order, and reports whether there are none.
// Upstream: core/validation validatePodResizeContainerOrdering, v1.37.
func checkSameContainers(p *validation.Problems, is, was *v1.PodSpec) bool {
	before := len(p.List)
	check := func(name string, is, was []v1.Container) {
		if len(is) != len(was) {
			p.Forbidden(validation.SpecPath.Child(name), name+" may not be added or removed on resize")
			return
		}
		for i := range was {
			if is[i].Name != was[i].Name {
				p.Forbidden(validation.SpecPath.Child(name).Index(i).Child("name"), name+" may not be renamed or reordered on resize")
			}
		}
	}
	check("containers", is.Containers, was.Containers)
	check("initContainers", is.InitContainers, was.InitContainers)
	return len(p.List) == before
}

// checkContainersResize checks the resources of containers, and sets those of munged back to the old
// ones as far as they may change.
// Upstream: core/validation ValidatePodResize and dropCPUMemoryResourcesFromContainer, v1.37.2.
func checkContainersResize(p *validation.Problems, is, was, munged *v1.PodSpec) {
	for i := range was.InitContainers {
		checkContainerResize(p, &is.InitContainers[i].Resources, &was.InitContainers[i].Resources,
			validation.SpecPath.Child("initContainers").Index(i).Child("resources"))
	}
	for i := range was.Containers {
		checkContainerResize(p, &is.Containers[i].Resources, &was.Containers[i].Resources,
			validation.SpecPath.Child("containers").Index(i).Child("resources"))
	}
	for i := range was.Containers {
		mungeResources(&munged.Containers[i].Resources, &was.Containers[i].Resources)
		if !semantic.Equal(munged.Containers[i], was.Containers[i]) {
			p.Forbidden(validation.SpecPath, "only cpu and memory resources are mutable")
		}
	}
	for i := range was.InitContainers {
		checkInitContainerResize(p, &munged.InitContainers[i], &was.InitContainers[i], validation.SpecPath.Child("initContainers").Index(i))
	}
}

// checkInitContainerResize checks one init container. It cannot be resized by a restart unless it is a sidecar (restartPolicy Always).
func checkInitContainerResize(p *validation.Problems, c, was *v1.Container, at *field.Path) {
	modified := !semantic.Equal(c, was)
	mungeResources(&c.Resources, &was.Resources)
	if !semantic.Equal(c, was) {
		p.Forbidden(at, "only cpu and memory resources for init or sidecar containers are mutable")
	}
	restarts := c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
	for _, policy := range c.ResizePolicy {
		if modified && !restarts && policy.RestartPolicy == v1.RestartContainer {
			p.Forbidden(at, "non-sidecar init containers with a resize policy of RestartContainer cannot be resized")
		}
	}
}

// Upstream: core/validation validateContainerResize, v1.37.
func checkContainerResize(p *validation.Problems, is, was *v1.ResourceRequirements, at *field.Path) {
	if resourcesRemoved(is.Requests, was.Requests) {
		p.Forbidden(at.Child("requests"), "resource requests cannot be removed")
	}
	if resourcesRemoved(is.Limits, was.Limits) {
		p.Forbidden(at.Child("limits"), "resource limits cannot be removed")
	}
}

func resourcesRemoved(is, was v1.ResourceList) bool {
	if len(was) > len(is) {
		return true
	}
	for name := range was {
		if _, ok := is[name]; !ok {
			return true
		}
	}
	return false
}

// mungeResources gives resources the CPU and the memory of others.
// Upstream: core/validation dropCPUMemoryUpdates, v1.37.
func mungeResources(r, was *v1.ResourceRequirements) {
	r.Requests, r.Limits = mungeList(r.Requests, was.Requests), mungeList(r.Limits, was.Limits)
}

func mungeList(list, was v1.ResourceList) v1.ResourceList {
	if list == nil && was == nil {
		return nil
	}
	munged := v1.ResourceList{}
	for name, quantity := range list {
		if name != v1.ResourceCPU && name != v1.ResourceMemory {
			munged[name] = quantity
		}
	}
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		if quantity, ok := was[name]; ok {
			munged[name] = quantity
		}
	}
	return munged
}
