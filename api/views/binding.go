package views

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/refusal"
	"github.com/storagesim/storagesim/api/internal/strategy"
)

// podBindings is the name of the subresource in a conflict.
var podBindings = schema.GroupResource{Resource: "pods/binding"}

// BindingOf returns the Binding that a request has for the pod of that name.
func BindingOf(in runtime.Object, pod string) (*v1.Binding, error) {
	binding, ok := in.(*v1.Binding)
	if !ok {
		return nil, apierrors.NewBadRequest("a Binding is expected")
	}
	if binding.Name != pod {
		return nil, apierrors.NewBadRequest("name in URL does not match name in Binding object")
	}
	if errs := validateBinding(binding); len(errs) > 0 { // upstream gives the error no code of its own
		return nil, refusal.Internal(errs.ToAggregate().Error())
	}
	return binding, nil
}

func validateBinding(b *v1.Binding) field.ErrorList {
	var errs field.ErrorList
	target := field.NewPath("target")
	if b.Target.Kind != "" && b.Target.Kind != "Node" {
		errs = append(errs, field.NotSupported(target.Child("kind"), b.Target.Kind, []string{"Node", "<empty>"}))
	}
	switch {
	case b.Target.Name == "":
		errs = append(errs, field.Required(target.Child("name"), ""))
	case b.Target.Kind == "" || b.Target.Kind == "Node":
		for _, text := range apivalidation.NameIsDNSSubdomain(b.Target.Name, false) {
			errs = append(errs, field.Invalid(target.Child("name"), b.Target.Name, text))
		}
	}
	return errs
}

// MayBind returns a conflict if the pod cannot be bound.
func MayBind(pod *v1.Pod) error {
	if err := whyUnbound(pod); err != nil {
		return apierrors.NewConflict(podBindings, pod.Name, err)
	}
	return nil
}

// whyUnbound says why a pod cannot be bound.
func whyUnbound(pod *v1.Pod) error {
	switch {
	case pod.DeletionTimestamp != nil:
		return fmt.Errorf("pod %s is being deleted, cannot be assigned to a host", pod.Name)
	case pod.Spec.NodeName != "":
		return fmt.Errorf("pod %v is already assigned to node %q", pod.Name, pod.Spec.NodeName)
	case len(pod.Spec.SchedulingGates) > 0:
		return fmt.Errorf("pod %v has non-empty .spec.schedulingGates", pod.Name)
	}
	return nil
}

// Assign returns the pod as bound: on its node, with the annotations and
// labels of the binding and the topology labels of the node, scheduled, and no
// longer nominated.
func Assign(old *v1.Pod, b *v1.Binding, on runtime.Object, now metav1.Time) *v1.Pod {
	pod := old.DeepCopy()
	pod.Spec.NodeName = b.Target.Name
	pod.Annotations = strategy.Merged(pod.Annotations, b.Annotations)
	pod.Labels = strategy.Merged(pod.Labels, b.Labels)
	if node, ok := on.(*v1.Node); ok && b.Target.Kind == "Node" { // Upstream: plugin/pkg/admission/podtopologylabels Plugin.admitBinding, v1.37.2
		pod.Labels = strategy.Merged(pod.Labels, topologyOf(node))
	}
	pod.Status.NominatedNodeName = ""
	setPodCondition(pod, v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: now})
	return pod
}

// topologyOf returns the labels that pods inherit from their node.
// Upstream: plugin/pkg/admission/podtopologylabels, v1.37.
func topologyOf(node *v1.Node) map[string]string {
	labels := map[string]string{}
	for _, name := range []string{v1.LabelTopologyZone, v1.LabelTopologyRegion} {
		if value, ok := node.Labels[name]; ok {
			labels[name] = value
		}
	}
	return labels
}

// setPodCondition sets a condition. Its time stays if its status does.
// Upstream: pkg/api/pod UpdatePodCondition, v1.37.
func setPodCondition(pod *v1.Pod, condition v1.PodCondition) {
	for i := range pod.Status.Conditions {
		old := &pod.Status.Conditions[i]
		if old.Type != condition.Type {
			continue
		}
		if old.Status == condition.Status {
			condition.LastTransitionTime = old.LastTransitionTime
		}
		*old = condition
		return
	}
	pod.Status.Conditions = append(pod.Status.Conditions, condition)
}
