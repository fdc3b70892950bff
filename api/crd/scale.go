package crd

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/api/views"
)

// scaling returns the subresource scale that a version has, nil if it has none.
// Upstream: registry/customresource scaleFromCustomResource and
// scaleUpdatedObjectInfo.UpdatedObject, v1.37.
func (s *shape) scaling() *views.Scale {
	if s.scale == nil {
		return nil
	}
	return &views.Scale{
		Path: s.scale.SpecReplicasPath,
		Counts: func(obj runtime.Object) (spec autoscalingv1.ScaleSpec, status autoscalingv1.ScaleStatus, found bool, err error) {
			wanted, found, err := unstructured.NestedInt64(fieldsOf(obj), steps(s.scale.SpecReplicasPath)...)
			if err != nil {
				return spec, status, false, err
			}
			are, _, err := unstructured.NestedInt64(fieldsOf(obj), steps(s.scale.StatusReplicasPath)...)
			if err == nil && s.scale.LabelSelectorPath != nil && *s.scale.LabelSelectorPath != "" {
				status.Selector, _, err = unstructured.NestedString(fieldsOf(obj), steps(*s.scale.LabelSelectorPath)...)
			}
			spec.Replicas, status.Replicas = int32(wanted), int32(are)
			return spec, status, found, err
		},
		Set: func(obj runtime.Object, replicas int32) error {
			return unstructured.SetNestedField(fieldsOf(obj), int64(replicas), steps(s.scale.SpecReplicasPath)...)
		},
	}
}
