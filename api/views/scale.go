package views

import (
	"fmt"
	"math"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/refusal"
)

// Scale is the subresource scale of a kind whose objects are unstructured.
type Scale struct {
	// Counts returns the wanted and the actual number of replicas and the selector of an object; found is false if the object
	// lacks the field at Path.
	Counts func(obj runtime.Object) (spec autoscalingv1.ScaleSpec, status autoscalingv1.ScaleStatus, found bool, err error)
	// Set writes the wanted number of replicas into obj, a copy that may be changed.
	Set func(obj runtime.Object, replicas int32) error
	// Path is the path of the field in the object, for messages: ".spec.replicas".
	Path string
}

// ReplicasPath returns where an object says how many replicas are wanted, nil for a kind that is not scaled.
func (s *Scale) ReplicasPath() fieldpath.Path {
	if s == nil {
		return nil
	}
	var path fieldpath.Path
	for name := range strings.SplitSeq(strings.TrimPrefix(s.Path, "."), ".") {
		path = append(path, fieldpath.PathElement{FieldName: &name})
	}
	return path
}

// noReplicas stands in a patch for an object that does not say how many replicas it wants.
const noReplicas = math.MinInt32

// Subresource returns the scale of an unstructured kind.
// Upstream: registry/customresource ScaleREST, v1.37.
func (s *Scale) Subresource() Subresource {
	form := func(obj call.Object) (*autoscalingv1.Scale, bool, error) {
		scale := scaleOf(obj)
		scale.TypeMeta = metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "Scale"}
		var found bool
		var err error
		scale.Spec, scale.Status, found, err = s.Counts(obj)
		return scale, found, refusal.AsStatus(err)
	}
	return scaleBy(&View{
		Show: func(obj call.Object) (runtime.Object, error) {
			scale, found, err := form(obj)
			if err == nil && !found {
				err = apierrors.NewInternalError(fmt.Errorf("the spec replicas field %q does not exist", s.Path))
			}
			return scale, err
		},
		Base: func(obj call.Object) (runtime.Object, error) {
			scale, found, err := form(obj)
			if !found {
				scale.Spec.Replicas = noReplicas
			}
			return scale, err
		},
		Set: func(obj call.Object, form runtime.Object) error {
			n, err := replicasOf(form)
			if err == nil && n == noReplicas {
				err = apierrors.NewBadRequest(fmt.Sprintf("the spec replicas field %q cannot be empty", s.Path))
			}
			if err != nil {
				return err
			}
			return refusal.AsStatus(s.Set(obj, n))
		},
	})
}

func scaleBy(v *View) Subresource {
	return Subresource{GVK: autoscalingv1.SchemeGroupVersion.WithKind("Scale"), Verbs: metav1.Verbs{"get", "patch", "update"}, View: v}
}

// scaleOf returns a Scale with the metadata of its object.
func scaleOf(obj call.Object) *autoscalingv1.Scale {
	return &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{
		Name: obj.GetName(), Namespace: obj.GetNamespace(), UID: obj.GetUID(),
		ResourceVersion: obj.GetResourceVersion(), CreationTimestamp: obj.GetCreationTimestamp(),
	}}
}

// replicasOf returns the replicas that a form asks for.
func replicasOf(form runtime.Object) (int32, error) {
	scale, ok := form.(*autoscalingv1.Scale)
	if !ok {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("a Scale is expected, and this is a %T", form))
	}
	return scale.Spec.Replicas, nil
}

// scaled returns the subresource scale of a kind whose replicas are at the pointer.
// Upstream: pkg/registry/apps/statefulset/storage ScaleREST, v1.37.
func scaled[T call.Object](replicas func(T) **int32, current func(T) int32, selector func(T) *metav1.LabelSelector) Subresource {
	show := func(obj call.Object) (runtime.Object, error) {
		owner, scale := obj.(T), scaleOf(obj)
		if n := *replicas(owner); n != nil {
			scale.Spec.Replicas = *n
		}
		scale.Status.Replicas = current(owner)
		if s, err := metav1.LabelSelectorAsSelector(selector(owner)); err == nil {
			scale.Status.Selector = s.String()
		}
		return scale, nil
	}
	set := func(obj call.Object, form runtime.Object) error {
		n, err := replicasOf(form)
		if err != nil {
			return err
		}
		if n < 0 {
			return apierrors.NewInvalid(schema.GroupKind{Group: autoscalingv1.GroupName, Kind: "Scale"}, obj.GetName(), field.ErrorList{
				field.Invalid(field.NewPath("spec", "replicas"), n, "must be greater than or equal to 0").WithOrigin("minimum"),
			})
		}
		*replicas(obj.(T)) = &n
		return nil
	}
	return scaleBy(&View{Show: show, Set: set})
}

// StatefulSetScale returns the subresources of StatefulSets.
func StatefulSetScale() map[string]Subresource {
	return map[string]Subresource{"scale": scaled(
		func(set *appsv1.StatefulSet) **int32 { return &set.Spec.Replicas },
		func(set *appsv1.StatefulSet) int32 { return set.Status.Replicas },
		func(set *appsv1.StatefulSet) *metav1.LabelSelector { return set.Spec.Selector },
	)}
}

// DeploymentScale returns the subresources of Deployments.
func DeploymentScale() map[string]Subresource {
	return map[string]Subresource{"scale": scaled(
		func(d *appsv1.Deployment) **int32 { return &d.Spec.Replicas },
		func(d *appsv1.Deployment) int32 { return d.Status.Replicas },
		func(d *appsv1.Deployment) *metav1.LabelSelector { return d.Spec.Selector },
	)}
}

// ControllerScale returns the subresources of ReplicationControllers.
func ControllerScale() map[string]Subresource {
	return map[string]Subresource{"scale": scaled(
		func(rc *v1.ReplicationController) **int32 { return &rc.Spec.Replicas },
		func(rc *v1.ReplicationController) int32 { return rc.Status.Replicas },
		func(rc *v1.ReplicationController) *metav1.LabelSelector {
			return &metav1.LabelSelector{MatchLabels: rc.Spec.Selector}
		},
	)}
}

// ReplicaSetScale returns the subresources of ReplicaSets.
func ReplicaSetScale() map[string]Subresource {
	return map[string]Subresource{"scale": scaled(
		func(set *appsv1.ReplicaSet) **int32 { return &set.Spec.Replicas },
		func(set *appsv1.ReplicaSet) int32 { return set.Status.Replicas },
		func(set *appsv1.ReplicaSet) *metav1.LabelSelector { return set.Spec.Selector },
	)}
}
