package patch

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/refusal"
	"github.com/storagesim/storagesim/internal/quantity"
)

// strategicPatch returns old with a strategic merge patch applied. It converts to maps only
// the fields that the patch names, and the whole object where that may give another result.
//
// Upstream: apiserver endpoints/handlers strategicPatchObject and applyPatchToObject, v1.37,
// which always convert the whole object.
func (t *Target) strategicPatch(old call.Object, data []byte) (call.Object, error) {
	if err := quantity.CheckJSON(data, old); err != nil {
		return nil, refusal.Quantity(t.Kind.GVK.GroupKind(), t.Name, err)
	}
	var patch map[string]any
	if !t.Strict && kjson.UnmarshalCaseSensitivePreserveInts(data, &patch) == nil && namesFields(t.Kind.Type, patch) {
		obj := t.copyFor(old, patch)
		if mergeStruct(reflect.ValueOf(obj).Elem(), patch, t.Warn != nil) == nil {
			return obj, nil
		}
	}
	return t.patchWhole(old, data) // it also finds the error to answer with
}

// copyFor returns a copy of old to apply the patch to. It leaves out the spec of an object of
// which only the status is patched: the spec is not read, and keep puts it back afterwards.
func (t *Target) copyFor(old call.Object, patch map[string]any) call.Object {
	part := reflect.New(t.Kind.Type)
	part.Elem().Set(reflect.ValueOf(old).Elem())
	if _, mentioned := patch["spec"]; !mentioned && t.Sub == "status" && t.Kind.Status.Exists() && t.Kind.Spec.Exists() {
		t.Kind.Spec.Drop(part.Interface().(call.Object))
	}
	return part.Interface().(call.Object).DeepCopyObject().(call.Object)
}

// mergeStruct applies a patch, which namesFields has accepted, to the fields of a struct that
// it names. On an error, some of them are changed. With strict, a field that the struct does not have is one.
func mergeStruct(target reflect.Value, patch map[string]any, strict bool) error {
	fields, others := fieldsOf(target.Type()), map[string]any{}
	for key, value := range patch {
		name, _ := patchedField(key)
		field := target.Field(fields[name].index)
		switch value := value.(type) {
		case map[string]any:
			if fields[name].alone && namesFields(field.Type(), value) {
				if err := mergeStruct(field, value, strict); err != nil {
					return err
				}
				continue
			}
		case string:
			if field.Kind() == reflect.String {
				field.SetString(value)
				continue
			}
		}
		others[key] = value
	}
	if len(others) == 0 {
		return nil
	}
	return mergeByLibrary(target, others, strict)
}

// mergeByLibrary converts the fields that the patch names to maps, merges, and converts them
// back.
func mergeByLibrary(target reflect.Value, patch map[string]any, strict bool) error {
	fields, part := fieldsOf(target.Type()), reflect.New(target.Type())
	var named []int
	for key := range patch {
		name, _ := patchedField(key)
		i := fields[name].index
		named = append(named, i)
		part.Elem().Field(i).Set(target.Field(i))
	}
	before, err := runtime.DefaultUnstructuredConverter.ToUnstructured(part.Interface())
	if err != nil {
		return err
	}
	after, err := mergeMaps(before, patch, target.Type()) // changes the patch
	if err != nil {
		return err
	}
	part.Elem().SetZero()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(after, part.Interface(), strict); err != nil {
		return err
	}
	for _, i := range named {
		target.Field(i).Set(part.Elem().Field(i))
	}
	return nil
}

// patchedField returns the name of the field that a key of a patch is about, and whether the
// key is a directive about the field's list.
func patchedField(key string) (name string, directive bool) {
	if name, found := strings.CutPrefix(key, orderPrefix); found {
		return name, true
	}
	return strings.CutPrefix(key, deletionsPrefix)
}

// namesFields reports whether each field of a struct of type t can be merged without the
// others. It cannot if the patch has the directives $patch or $retainKeys, which are about the
// whole struct, or names something else that is no field.
func namesFields(t reflect.Type, patch map[string]any) bool {
	fields := fieldsOf(t)
	for key := range patch {
		name, directive := patchedField(key)
		field, known := fields[name]
		if !known || directive && t.Field(field.index).Type.Kind() != reflect.Slice {
			return false
		}
	}
	return true
}

// structField is a field that has a name in JSON.
type structField struct {
	index int
	alone bool // a struct that JSON always shows field by field, so that each can be merged alone
}

var knownFields sync.Map // reflect.Type to map[string]structField, filled when needed

// fieldsOf returns the struct's fields by their names in JSON, without those of embedded
// structs.
func fieldsOf(t reflect.Type) map[string]structField {
	if known, ok := knownFields.Load(t); ok {
		return known.(map[string]structField)
	}
	fields := map[string]structField{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			decoded := reflect.PointerTo(f.Type).Implements(reflect.TypeFor[json.Unmarshaler]())
			fields[name] = structField{i, f.Type.Kind() == reflect.Struct && !decoded && !strings.Contains(options, "omitzero")}
		}
	}
	knownFields.Store(t, fields)
	return fields
}

// patchWhole returns old with the patch applied to all of it.
// Upstream: apiserver endpoints/handlers strategicPatchObject and applyPatchToObject, v1.37.
func (t *Target) patchWhole(old call.Object, data []byte) (call.Object, error) {
	patch := map[string]any{}
	strict, err := kjson.UnmarshalStrict(data, &patch)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	shown := fmt.Sprintf("%+v", patch) // merging changes it
	before, err := runtime.DefaultUnstructuredConverter.ToUnstructured(old)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	obj := t.Kind.NewObject()
	after, err := mergeMaps(before, patch, t.Kind.Type)
	if err != nil {
		return nil, strategicError(err)
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(after, obj, t.Strict || t.Warn != nil)
	if unknown, ok := runtime.AsStrictDecodingError(err); ok {
		strict, err = append(strict, unknown.Errors()...), nil
	}
	if err == nil {
		err = t.orWarn(strict)
	}
	if err != nil {
		return nil, patchInvalid(shown, err)
	}
	return obj, nil
}

// strategicError returns the error to answer with where a patch cannot be merged.
func strategicError(err error) error {
	is := func(targets ...error) bool {
		return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
	}
	switch {
	case is(mergepatch.ErrBadJSONDoc, mergepatch.ErrBadPatchFormatForPrimitiveList, mergepatch.ErrBadPatchFormatForRetainKeys,
		mergepatch.ErrBadPatchFormatForSetElementOrderList, mergepatch.ErrUnsupportedStrategicMergePatchFormat):
		return apierrors.NewBadRequest(err.Error())
	case is(mergepatch.ErrNoListOfLists, mergepatch.ErrPatchContentNotMatchRetainKeys):
		return refusal.Unprocessable(err)
	}
	return err
}

// mergeMaps merges a patch into a struct of type t. The library panics on some
// malformed directives, such as a map among $retainKeys. A real API server answers
// that request, and only that one, with this error.
// Upstream: apiserver server/filters WithPanicRecovery, v1.37.
func mergeMaps(before, patch map[string]any, t reflect.Type) (after map[string]any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = refusal.Internal(fmt.Sprintf("This request caused apiserver to panic. Look in the logs for details. (%v)", p))
		}
	}()
	deletionsLast(patch)
	return strategicpatch.StrategicMergeMapPatchUsingLookupPatchMeta(before, patch, strategicpatch.PatchMetaFromStruct{T: t})
}
