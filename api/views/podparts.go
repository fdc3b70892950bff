package views

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/strategy"
	"github.com/storagesim/storagesim/api/internal/validation"
	"github.com/storagesim/storagesim/api/internal/validation/cluster"
	"github.com/storagesim/storagesim/api/internal/validation/pods"
)

// Part is the part of an object that a subresource writes. The request has the whole object,
// of which only the part counts.
type Part struct {
	// Keep copies everything except the part from old to obj. now is the time of the request.
	Keep func(obj, old call.Object, now metav1.Time)
	// Validate returns what is wrong with obj as an update of old.
	Validate func(obj, old call.Object) field.ErrorList
}

// NamespaceSubresources returns the subresources of namespaces. All but the status is written through finalize.
// Upstream: pkg/registry/core/namespace namespaceFinalizeStrategy, v1.37.2.
func NamespaceSubresources() map[string]Subresource {
	validate := validation.Kind{Update: func(obj, _ runtime.Object) field.ErrorList {
		return cluster.FinalizersOfNamespace(obj.(*v1.Namespace).Spec.Finalizers)
	}}
	return map[string]Subresource{"finalize": {Verbs: metav1.Verbs{"update"}, Part: &Part{
		Keep:     func(obj, old call.Object, _ metav1.Time) { obj.(*v1.Namespace).Status = old.(*v1.Namespace).Status },
		Validate: func(obj, old call.Object) field.ErrorList { return validate.ValidateUpdate(obj, old) },
	}}}
}

// podPart returns a part of pods that their own update does not change.
func podPart(keep func(pod, old *v1.Pod), validate func(pod, old *v1.Pod) field.ErrorList) Subresource {
	return Subresource{Verbs: metav1.Verbs{"get", "patch", "update"}, Part: &Part{
		Keep:     func(obj, old call.Object, _ metav1.Time) { keep(obj.(*v1.Pod), old.(*v1.Pod)) },
		Validate: func(obj, old call.Object) field.ErrorList { return validate(obj.(*v1.Pod), old.(*v1.Pod)) },
	}}
}

// ephemeralContainers returns the subresource that adds containers to a running pod.
func ephemeralContainers() Subresource {
	return podPart(dropNonEphemeralContainerUpdates, pods.EphemeralContainersUpdate)
}

// resize changes the resource requests and limits of a pod's containers. Nodes here do not
// report that they can resize, so that the resize of a running pod is refused, as upstream does.
func resize() Subresource {
	prepare := func(pod, old *v1.Pod) {
		dropNonResizeUpdates(pod, old)
		strategy.KeepPodResources(&pod.Spec, &old.Spec)
		strategy.DefaultPodResources(pod)
	}
	return podPart(prepare, func(pod, old *v1.Pod) field.ErrorList {
		return pods.Resize(pod, old, strategy.PodQOS(&pod.Spec))
	})
}

// dropNonEphemeralContainerUpdates keeps all but the ephemeral containers.
// Upstream: pkg/registry/core/pod dropNonEphemeralContainerUpdates, v1.37.
func dropNonEphemeralContainerUpdates(pod, old *v1.Pod) {
	added := pod.Spec.EphemeralContainers
	keepPod(pod, old)
	pod.Spec.EphemeralContainers = added
}

// dropNonResizeUpdates keeps all but the resources of the pod and of its containers. What adds
// or moves containers is left for validation to refuse.
// Upstream: pkg/registry/core/pod dropNonResizeUpdates, v1.37.
func dropNonResizeUpdates(pod, old *v1.Pod) {
	is := pod.Spec
	if len(is.Containers) != len(old.Spec.Containers) || len(is.InitContainers) != len(old.Spec.InitContainers) {
		return
	}
	keepPod(pod, old)
	pod.Spec.Resources = is.Resources
	pod.Spec.Containers = withResources(is.Containers, old.Spec.Containers)
	pod.Spec.InitContainers = withResources(is.InitContainers, old.Spec.InitContainers)
}

// keepPod copies everything except managed fields from old to pod.
func keepPod(pod, old *v1.Pod) {
	same := old.DeepCopyObject().(*v1.Pod)
	pod.Spec, pod.Status = same.Spec, same.Status
	metav1.ResetObjectMetaForStatus(&pod.ObjectMeta, &same.ObjectMeta)
}

// withResources returns the old containers with the resources and resize policies of the new
// ones, or the new ones themselves if they have other names.
func withResources(containers, old []v1.Container) []v1.Container {
	kept := make([]v1.Container, len(old))
	for i := range old {
		if containers[i].Name != old[i].Name {
			return containers
		}
		old[i].DeepCopyInto(&kept[i])
		kept[i].Resources, kept[i].ResizePolicy = containers[i].Resources, containers[i].ResizePolicy
	}
	return kept
}
