package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"

	"github.com/storagesim/storagesim/internal/quantity"
)

// A strategic merge patch is applied to maps, as upstream does. To convert a whole
// object to maps and back takes far longer than the merge, and most patches are about
// a few fields of a status. So the patch is applied to the fields of the object itself:
// those that it replaces are read from it, lists of objects that have a key are merged
// item by item (strategic_lists.go), and only what is left, such as maps, is converted. This
// is the same: a field's outcome depends on the field and on what the patch says of it,
// and on nothing else, but for the directives $patch and $retainKeys, which are about the
// struct around them.

// strategicPatch is old with a strategic merge patch applied.
// Upstream: apiserver endpoints/handlers strategicPatchObject, applyPatchToObject and
// interpretStrategicMergePatchError, v1.36.
func (r *request) strategicPatch(old object, data []byte) (object, error) {
	if err := quantity.CheckJSON(data, r.kind.newObject()); err != nil {
		return nil, r.refusedQuantity(err)
	}
	if !r.strict && json.Valid(data) {
		if patch, ok := readPatch(r.kind.typ, data); ok {
			obj := r.copyFor(old, patch)
			if mergeFields(reflect.ValueOf(obj).Elem(), patch) == nil {
				return obj, nil
			}
		}
	}
	return r.patchWhole(old, data)
}

// copyFor is a copy of old that a patch may change: without the spec, if the patch is
// one of the status and does not mention the spec, which is put back afterwards
// (keepSpec).
func (r *request) copyFor(old object, patch []fieldPatch) object {
	mentioned := slices.ContainsFunc(patch, func(p fieldPatch) bool { return p.name == "spec" })
	if mentioned || r.sub != "status" || r.kind.status < 0 || r.kind.spec < 0 {
		return old.DeepCopyObject().(object)
	}
	return r.withoutSpec(old).DeepCopyObject().(object)
}

// withoutSpec is the object without its spec, everything else is shared.
func (r *request) withoutSpec(old object) object {
	part := reflect.New(r.kind.typ)
	part.Elem().Set(reflect.ValueOf(old).Elem())
	part.Elem().Field(r.kind.spec).SetZero()
	return part.Interface().(object)
}

// patchWhole converts the whole object. It says what is wrong with a patch that
// cannot be applied.
func (r *request) patchWhole(old object, data []byte) (object, error) {
	patch := map[string]any{}
	strict, err := kjson.UnmarshalStrict(data, &patch)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	before, err := runtime.DefaultUnstructuredConverter.ToUnstructured(old)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	obj := r.kind.newObject()
	after, err := mergeMaps(before, patch, r.kind.typ)
	if err != nil {
		return nil, strategicError(err)
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(after, obj, r.strict)
	if unknown, ok := runtime.AsStrictDecodingError(err); ok {
		strict, err = append(strict, unknown.Errors()...), nil
	}
	if err == nil && r.strict && len(strict) > 0 {
		err = runtime.NewStrictDecodingError(strict)
	}
	if err != nil {
		return nil, r.patchInvalid(data, err)
	}
	return obj, nil
}

// strategicError is the answer to a patch that cannot be merged.
func strategicError(err error) error {
	is := func(targets ...error) bool {
		return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
	}
	switch {
	case is(mergepatch.ErrBadJSONDoc, mergepatch.ErrBadPatchFormatForPrimitiveList, mergepatch.ErrBadPatchFormatForRetainKeys,
		mergepatch.ErrBadPatchFormatForSetElementOrderList, mergepatch.ErrUnsupportedStrategicMergePatchFormat):
		return apierrors.NewBadRequest(err.Error())
	case is(mergepatch.ErrNoListOfLists, mergepatch.ErrPatchContentNotMatchRetainKeys):
		return unprocessable(err)
	}
	return err
}

// mergeFields applies the patch to the fields of a struct that it names. After an error
// some of them may be changed.
func mergeFields(target reflect.Value, patch []fieldPatch) error {
	var leaves []fieldPatch
	for _, p := range patch {
		done, err := p.merge(target.Field(p.index))
		if err != nil {
			return err
		}
		if !done {
			leaves = append(leaves, p)
		}
	}
	if len(leaves) == 0 {
		return nil
	}
	return mergeLeaves(target, leaves)
}

// mergeLeaves converts the fields that the patch names to maps, merges, and converts them
// back.
func mergeLeaves(target reflect.Value, patch []fieldPatch) error {
	t, tree, touched := target.Type(), map[string]any{}, map[string]bool{}
	part, outcome := reflect.New(t), reflect.New(t)
	for _, p := range patch {
		if err := p.addTo(tree); err != nil {
			return err
		}
		touched[p.name] = true
		part.Elem().Field(p.index).Set(target.Field(p.index))
	}
	before, err := runtime.DefaultUnstructuredConverter.ToUnstructured(part.Interface())
	if err != nil {
		return err
	}
	for name := range before {
		if !touched[name] {
			delete(before, name) // a field that is shown even when it is empty
		}
	}
	after, err := mergeMaps(before, tree, t)
	if err != nil {
		return err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(after, outcome.Interface()); err != nil {
		return err
	}
	for _, p := range patch {
		target.Field(p.index).Set(outcome.Elem().Field(p.index))
	}
	return nil
}

// mergeMaps merges a patch into a struct of type t. The library panics on some
// malformed directives, such as a map among $retainKeys. A real API server answers
// that request, and only that one, with this error.
// Upstream: apiserver server/filters WithPanicRecovery, v1.36.
func mergeMaps(before, patch map[string]any, t reflect.Type) (after map[string]any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = internalError(fmt.Sprintf("This request caused apiserver to panic. Look in the logs for details. (%v)", p))
		}
	}()
	deletionsLast(patch)
	return strategicpatch.StrategicMergeMapPatchUsingLookupPatchMeta(before, patch, strategicpatch.PatchMetaFromStruct{T: t})
}
