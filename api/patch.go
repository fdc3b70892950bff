package api

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/metadata"
	"github.com/storagesim/storagesim/api/patch"
	"github.com/storagesim/storagesim/api/views"
)

// patched changes the object, or its status if that is the subresource. A
// metadata.resourceVersion in the patch is a precondition.
func patched(w *writer, r request, req Request) (runtime.Object, error) {
	if req.PatchType == types.ApplyPatchType {
		return applied(w, r, req.Patch, req.Write)
	}
	return w.change(r, func(r request, old call.Object) (call.Object, error) {
		if old == nil {
			return nil, r.NotFound()
		}
		obj, err := formTarget(r).Patched(inForm(r, old), req.PatchType, req.Patch, req.Values)
		if err != nil {
			return nil, err
		}
		return r.Accept(views.CoreFormOf(obj), r.warn)
	})
}

// applied returns a server-side apply: it creates the object, or sets the fields in the
// configuration and removes those that the same manager set before and no longer
// mentions. Another manager's field is a conflict unless forced.
func applied(w *writer, r request, data []byte, opts metav1.PatchOptions) (runtime.Object, error) {
	config, err := formTarget(r).Configuration(data)
	if err != nil {
		return nil, w.reports.refuse(r, err)
	}
	r.tracked, r.applied, r.untidy = true, true, new(bool)
	return w.change(r, func(r request, old call.Object) (call.Object, error) {
		live := inForm(r, old)
		if live == nil && r.Sub != "" && !createsOnUpdate(r) {
			return nil, r.NotFound()
		}
		if err := formTarget(r).Check(config); err != nil {
			return nil, err
		}
		if uid := config.GetUID(); uid != "" && live == nil {
			return nil, r.Invalid(field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), uid, "field is immutable")})
		}
		obj, err := formTarget(r).Applied(live, config, opts.FieldManager, opts.Force != nil && *opts.Force)
		if err != nil {
			return nil, err
		}
		*r.untidy = metadata.HasEmpty(obj)
		if obj, err = r.Accept(views.CoreFormOf(obj), r.warn); err != nil {
			return nil, err
		}
		patch.Stamp(live, obj, w.clock.Now())
		if !r.strict {
			return obj, nil
		}
		if err := yaml.UnmarshalStrict(data, &map[string]any{}); err != nil { // a field is there twice
			return nil, apierrors.NewBadRequest(fmt.Sprintf("error strict decoding patch: %v", err))
		}
		return obj, nil
	})
}

// inForm returns a stored object in the form in which a patch is written, nil if there is none.
func inForm(r request, old call.Object) call.Object {
	if old == nil || r.form == nil {
		return r.asShown(old)
	}
	return views.EventsV1Form(old).(call.Object)
}

// formTarget returns what a patch of the request is for, in the form in which it is written.
func formTarget(r request) *patch.Target {
	target := r.target()
	if r.form != nil {
		target.Kind = r.form
	}
	return target
}
