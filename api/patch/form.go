package patch

import (
	"cmp"
	"fmt"
	"maps"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/refusal"
)

// FormWrite is a request that updates, patches or applies a form of an object.
type FormWrite struct {
	target  *Target // the form
	request call.Request
	config  *unstructured.Unstructured // of an apply, nil for other requests
	custom  bool                       // the object is a custom one
}

// FormWrite returns a request for a form of the object.
func (t *Target) FormWrite(gvk schema.GroupVersionKind, request call.Request) (*FormWrite, error) {
	f := &FormWrite{target: t.Form(gvk), request: request, custom: t.Kind.Scheme == nil}
	if request.PatchType != types.ApplyYAMLPatchType {
		return f, nil
	}
	var err error
	f.config, err = f.target.Configuration(request.Patch)
	return f, err
}

// Before returns the form of the stored object, as show makes it, with the managed fields that it has of it.
func (f *FormWrite) Before(show func(obj call.Object) (runtime.Object, error), old call.Object, fields *managedfields.ScaleHandler) (call.Object, error) {
	is, err := show(old)
	if err != nil {
		return nil, err
	}
	entries, err := fields.ToSubresource()
	if err != nil {
		return nil, refusal.AsStatus(err)
	}
	form := is.(call.Object)
	form.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	form.SetManagedFields(entries)
	return form, nil
}

// After returns the form that the client wants in place of is, with its managed fields.
// Upstream: pkg/registry/apps/deployment/storage scaleUpdatedObjectInfo.UpdatedObject, v1.37.2.
func (f *FormWrite) After(is call.Object, now metav1.Time) (call.Object, error) {
	if f.config != nil {
		if err := f.target.Check(f.config); err != nil {
			return nil, err
		}
		if f.custom && len(is.GetManagedFields()) == 0 { // upstream cannot make a first manager of the Scale of a custom resource
			return nil, refusal.Internal("failed to create manager for existing fields: failed to convert live object (/; autoscaling/v1, Kind=Scale) to " +
				"proper version: request to convert CR to an invalid group/version: autoscaling/v1")
		}
		form, err := f.target.Applied(is, f.config, f.request.Write.FieldManager, f.request.Write.Force != nil && *f.request.Write.Force)
		if err == nil && f.custom && !sameScale(is, form) { // nor can it make a Scale of what was applied, unless that is nothing new
			return nil, refusal.Internal(fmt.Sprintf("failed to convert new object (%s/%s; autoscaling/v1, Kind=Scale) to proper version: "+
				"request to convert CR to an invalid group/version: autoscaling/v1", f.config.GetNamespace(), f.config.GetName()))
		}
		return form, err
	}
	form := f.request.Object
	if f.request.Verb == "patch" {
		var err error
		if form, err = f.target.Patched(is, f.request.PatchType, f.request.Patch, nil); err != nil {
			return nil, err
		}
	}
	obj, ok := form.(call.Object)
	if !ok || form.GetObjectKind() == nil {
		return nil, apierrors.NewBadRequest("there is no object in the request")
	}
	obj = obj.DeepCopyObject().(call.Object)
	if obj.SetManagedFields(nil); len(is.GetManagedFields()) > 0 {
		f.target.Track(is, obj, cmp.Or(f.request.Write.FieldManager, f.request.Actor), now)
	}
	return obj, nil
}

// sameScale reports whether nothing but managedFields differs in two Scales.
func sameScale(a, b call.Object) bool {
	is, form := a.(*autoscalingv1.Scale), b.(*autoscalingv1.Scale)
	return is.Spec == form.Spec && maps.Equal(is.Labels, form.Labels) && maps.Equal(is.Annotations, form.Annotations)
}
