package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"

	"github.com/storagesim/storagesim/internal/quantity"
)

// A strategic merge patch is applied to maps, as upstream does. To convert a whole
// object to maps and back takes far longer than the merge, and most patches are about
// a few fields of a status. So only those fields are converted that the patch names,
// and those that it merely replaces are read from it as they are. This is the same: a
// field's outcome depends on the field and on what the patch says of it, and on
// nothing else, but for the directives $patch and $retainKeys, which are about the
// struct around them.

// strategicPatch is old with a strategic merge patch applied.
// Upstream: apiserver endpoints/handlers strategicPatchObject, applyPatchToObject and
// interpretStrategicMergePatchError, v1.36.
func (r *request) strategicPatch(old object, data []byte) (object, error) {
	if err := quantity.CheckJSON(data, r.kind.newObject()); err != nil {
		return nil, r.refusedQuantity(err)
	}
	var patch rawFields
	if !r.strict && kjson.UnmarshalCaseSensitivePreserveInts(data, &patch) == nil && namesFields(r.kind.typ, patch) {
		obj := r.copyFor(old, patch)
		if mergeFields(reflect.ValueOf(obj).Elem(), patch) == nil {
			return obj, nil
		}
	}
	return r.patchWhole(old, data)
}

// rawFields is a part of a patch: what it says of each field of a struct.
type rawFields = map[string]json.RawMessage

// copyFor is a copy of old that a patch may change: without the spec, if the patch is
// one of the status and does not mention the spec, which is put back afterwards
// (keepSpec).
func (r *request) copyFor(old object, patch rawFields) object {
	if _, mentioned := patch["spec"]; mentioned || r.sub != "status" || r.kind.status < 0 || r.kind.spec < 0 {
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

// mergeFields applies the patch to the fields of a struct that it names. namesFields
// must hold. After an error some of them may be changed.
func mergeFields(target reflect.Value, patch rawFields) error {
	fields, leaves, touched := fieldsOf(target.Type()), map[string]any{}, map[string]int{}
	for key, raw := range patch {
		name := fieldNamed(key)
		f := fields[name]
		if key == name && patch["$setElementOrder/"+key] == nil && patch["$deleteFromPrimitiveList/"+key] == nil {
			if done, err := f.merge(target.Field(f.index), raw); done || err != nil {
				if err != nil {
					return err
				}
				continue
			}
		}
		var value any
		if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &value); err != nil {
			return err
		}
		leaves[key], touched[name] = value, f.index
	}
	if len(leaves) == 0 {
		return nil
	}
	return mergeLeaves(target, leaves, touched)
}

// merge gives a field what the patch says of it, if that takes no conversion to maps.
func (f structField) merge(field reflect.Value, raw json.RawMessage) (done bool, err error) {
	switch {
	case string(raw) == "null":
		field.SetZero()
		return true, nil
	case f.way == byField && raw[0] == '{':
		var part rawFields
		if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &part); err != nil || !namesFields(field.Type(), part) {
			return false, err
		}
		return true, mergeFields(field, part)
	case f.way == byReplacing && raw[0] != '{', f.way == byReplacingText && raw[0] == '"',
		f.way == byReplacingList && raw[0] == '[' && !bytes.Contains(raw, []byte(`"$`)) && !bytes.Contains(raw, []byte("null")):
		if field.Kind() == reflect.String && plain(raw) {
			field.SetString(string(raw[1 : len(raw)-1]))
			return true, nil
		}
		value, ok := decoded(field.Type(), raw)
		if ok {
			field.Set(value)
		}
		return ok, nil // the conversion of maps allows more
	}
	return false, nil
}

// decoded is a value as the patch has it, if it is strictly one of that type.
func decoded(t reflect.Type, raw json.RawMessage) (reflect.Value, bool) {
	value := reflect.New(t)
	strict, err := kjson.UnmarshalStrict(raw, value.Interface())
	return value.Elem(), err == nil && len(strict) == 0
}

// plain says whether a text in JSON is what stands between its quotes.
func plain(raw json.RawMessage) bool {
	return raw[0] == '"' && !bytes.ContainsFunc(raw, func(c rune) bool { return c == '\\' || c >= utf8.RuneSelf })
}

// mergeLeaves converts the touched fields to maps, merges, and converts them back.
func mergeLeaves(target reflect.Value, patch map[string]any, touched map[string]int) error {
	t := target.Type()
	part, outcome := reflect.New(t), reflect.New(t)
	for _, i := range touched {
		part.Elem().Field(i).Set(target.Field(i))
	}
	before, err := runtime.DefaultUnstructuredConverter.ToUnstructured(part.Interface())
	if err != nil {
		return err
	}
	for name := range before {
		if _, ok := touched[name]; !ok {
			delete(before, name) // a field that is shown even when it is empty
		}
	}
	after, err := mergeMaps(before, patch, t)
	if err != nil {
		return err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(after, outcome.Interface()); err != nil {
		return err
	}
	for _, i := range touched {
		target.Field(i).Set(outcome.Elem().Field(i))
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
	return strategicpatch.StrategicMergeMapPatchUsingLookupPatchMeta(before, patch, strategicpatch.PatchMetaFromStruct{T: t})
}

// namesFields says whether every key of the patch is about one field of the struct.
func namesFields(t reflect.Type, patch rawFields) bool {
	fields := fieldsOf(t)
	for key := range patch {
		if _, ok := fields[fieldNamed(key)]; !ok {
			return false
		}
	}
	return true
}

// fieldNamed is the field that a key of a patch is about: itself, or the list whose
// order or deletions it describes.
func fieldNamed(key string) string {
	if directive, name, ok := strings.Cut(key, "/"); ok && (directive == "$setElementOrder" || directive == "$deleteFromPrimitiveList") {
		return name
	}
	return key
}
