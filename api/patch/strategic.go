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
	"github.com/storagesim/storagesim/internal/typedpatch"
)

// strategicPatch returns old with a strategic merge patch applied. It converts to maps only
// the fields that the patch names, and the whole object where that may give another result.
//
// Upstream: apiserver endpoints/handlers strategicPatchObject and applyPatchToObject, v1.37,
// which always convert the whole object.
func (t *Target) strategicPatch(old call.Object, data []byte, values typedpatch.Values) (call.Object, error) {
	if values != nil {
		if obj, merged := t.strategicallyMerged(old, values, merger{typed: true}); merged {
			return obj, nil
		}
		var err error
		if data, err = json.Marshal(values); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	if err := quantity.CheckJSON(data, old); err != nil {
		return nil, refusal.Quantity(t.Kind.GVK.GroupKind(), t.Name, err)
	}
	var patch map[string]any
	if !t.Strict && kjson.UnmarshalCaseSensitivePreserveInts(data, &patch) == nil {
		if obj, merged := t.strategicallyMerged(old, patch, merger{strict: t.Warn != nil}); merged {
			return obj, nil
		}
	}
	return t.patchWhole(old, data) // it also finds the error to answer with
}

// strategicallyMerged returns a copy of old with a patch merged field by field, false if that cannot be done.
func (t *Target) strategicallyMerged(old call.Object, patch map[string]any, m merger) (call.Object, bool) {
	if !namesFields(t.Kind.Type, patch) {
		return nil, false
	}
	obj := t.copyFor(old, patch)
	return obj, m.mergeStruct(reflect.ValueOf(obj).Elem(), patch) == nil
}

// merger merges the fields that a patch names.
type merger struct {
	// strict: a field that a struct does not have is an error.
	strict bool
	// typed: the patch is a typedpatch.Values. What only the library can merge is an error then.
	typed bool
}

// errByLibrary says that a typed patch must be written as JSON, for the library to merge it.
var errByLibrary = errors.New("only the library can merge this patch")

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
// it names. On an error, some of them are changed.
func (m merger) mergeStruct(target reflect.Value, patch map[string]any) error {
	fields, merged, replaced := fieldsOf(target.Type()), map[string]any{}, map[string]any{}
	for key, value := range patch {
		name, directive := patchedField(key)
		order, ordered := patch[orderPrefix+name]
		deletions, shortened := patch[deletionsPrefix+name]
		about, done := fields[name], false
		var err error
		switch list, isList := value.([]any); {
		case directive:
			if _, done = patch[name]; !done { // with its list, if the patch has one
				merged[key] = value
			}
			continue
		case shortened:
		case isList && about.replaced && !ordered && isPlain(value):
			replaced[key] = value
			continue
		case isList && about.mergeKey != "":
			done, err = m.mergeList(target.Field(about.index), about.mergeKey, list, order)
		case !isList && !ordered:
			done, err = m.mergeField(target.Field(about.index), value, about)
		}
		if err != nil {
			return err
		}
		if done {
			continue
		}
		merged[key] = value
		if ordered {
			merged[orderPrefix+name] = order
		}
		if shortened {
			merged[deletionsPrefix+name] = deletions
		}
	}
	if len(merged)+len(replaced) == 0 {
		return nil
	}
	if m.typed {
		return errByLibrary
	}
	return mergeByLibrary(target, merged, replaced, m.strict)
}

// mergeField merges the usual values without the library: nulls, strings, booleans and integers, and structs field by
// field. It reports whether it did; if not, nothing is changed.
func (m merger) mergeField(field reflect.Value, value any, about structField) (done bool, err error) {
	if value == nil {
		field.SetZero()
		return true, nil
	}
	if m.typed && reflect.TypeOf(value) == field.Type() && (about.whole || about.decoded || field.IsZero()) {
		field.Set(reflect.ValueOf(value))
		return true, nil
	}
	if field.Kind() == reflect.Pointer {
		to := reflect.New(field.Type().Elem())
		_, isMap := value.(map[string]any)
		if isMap && !field.IsNil() {
			to.Elem().Set(field.Elem())
		}
		_, decoded := to.Interface().(json.Unmarshaler)
		alone := isMap && !decoded && to.Elem().Kind() == reflect.Struct
		if done, err = m.mergeField(to.Elem(), value, structField{alone: alone}); done && err == nil {
			field.Set(to)
		}
		return done, err
	}
	switch value := value.(type) {
	case string:
		if decoder, ok := field.Addr().Interface().(json.Unmarshaler); ok {
			text, err := json.Marshal(value)
			if err != nil {
				return false, err
			}
			field.SetZero()
			return true, decoder.UnmarshalJSON(text)
		}
		if field.Kind() == reflect.String {
			field.SetString(value)
			return true, nil
		}
	case bool:
		if field.Kind() == reflect.Bool {
			field.SetBool(value)
			return true, nil
		}
	case int64:
		if field.CanInt() && !field.OverflowInt(value) {
			field.SetInt(value)
			return true, nil
		}
	case map[string]any:
		if about.alone && namesFields(field.Type(), value) {
			return true, m.mergeStruct(field, value)
		}
	}
	return false, nil
}

// mergeList merges the items of a list by their key without the library, where their order is plain: that of the list if all
// are in it, that of the patch if it names all, or that of a directive which names all. It reports whether it did; if not,
// nothing is changed.
func (m merger) mergeList(list reflect.Value, mergeKey string, patch []any, order any) (done bool, err error) {
	t := list.Type().Elem()
	key, old, changes := fieldsOf(t)[mergeKey].index, map[string]int{}, map[string]map[string]any{}
	var is, named, ordered []string
	for i := range list.Len() {
		is = append(is, list.Index(i).Field(key).String())
		old[is[i]] = i
	}
	for _, item := range patch {
		item, _ := item.(map[string]any)
		if !namesFields(t, item) {
			return false, nil
		}
		name, _ := item[mergeKey].(string)
		if _, ok := old[name]; !ok {
			for field, v := range item {
				kind := t.Field(fieldsOf(t)[field].index).Type.Kind()
				if !isPlain(v) && (v != nil || kind == reflect.Slice || kind == reflect.Map) {
					return false, nil // the library takes a new item as it is: a null in it is a value
				}
			}
		}
		changes[name], named = item, append(named, name)
	}
	if items, ok := order.([]any); ok {
		for _, item := range items {
			item, _ := item.(map[string]any)
			name, _ := item[mergeKey].(string)
			ordered = append(ordered, name)
		}
	}
	if len(old) != len(is) || len(changes) != len(named) || len(patch) == 0 || slices.Contains(slices.Concat(is, named, ordered), "") {
		return false, nil // an item without a key, or one that is there twice
	}
	var result []string
	switch {
	case order != nil && isWithin(named, ordered) && holdsAll(ordered, is) && holdsAll(slices.Concat(is, named), ordered):
		result = ordered
	case order != nil:
		return false, nil
	case isWithin(named, is):
		result = is
	case holdsAll(named, is):
		result = named
	default:
		return false, nil
	}
	merged := reflect.MakeSlice(list.Type(), len(result), len(result))
	for i, name := range result {
		if at, ok := old[name]; ok {
			merged.Index(i).Set(list.Index(at))
		}
		if item, ok := changes[name]; ok {
			if err := m.mergeStruct(merged.Index(i), item); err != nil {
				return true, err
			}
		}
	}
	list.Set(merged)
	return true, nil
}

// isPlain reports whether a value has neither nulls nor directives in it.
func isPlain(value any) bool {
	switch value := value.(type) {
	case nil:
		return false
	case map[string]any:
		for key, v := range value {
			if strings.HasPrefix(key, "$") || !isPlain(v) {
				return false
			}
		}
	case []any:
		return !slices.ContainsFunc(value, func(v any) bool { return !isPlain(v) })
	}
	return true
}

// isWithin reports whether all has the names of part, in their order.
func isWithin(part, all []string) bool {
	for _, name := range all {
		if len(part) > 0 && part[0] == name {
			part = part[1:]
		}
	}
	return len(part) == 0
}

// holdsAll reports whether all of part are in all.
func holdsAll(all, part []string) bool {
	return !slices.ContainsFunc(part, func(name string) bool { return !slices.Contains(all, name) })
}

// mergeByLibrary converts the fields that the patch names to maps, merges, and converts them
// back. Lists that take the place of others need not be merged.
func mergeByLibrary(target reflect.Value, patch, replaced map[string]any, strict bool) error {
	fields, part := fieldsOf(target.Type()), reflect.New(target.Type())
	var named []int
	for key := range patch {
		name, _ := patchedField(key)
		i := fields[name].index
		named = append(named, i)
		part.Elem().Field(i).Set(target.Field(i))
	}
	after := map[string]any{}
	if len(patch) > 0 {
		before, err := runtime.DefaultUnstructuredConverter.ToUnstructured(part.Interface())
		if err != nil {
			return err
		}
		if after, err = mergeMaps(before, patch, target.Type()); err != nil { // changes the patch
			return err
		}
		part.Elem().SetZero()
	}
	for key, value := range replaced {
		after[key], named = value, append(named, fields[key].index)
	}
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
	index    int
	alone    bool // a struct that JSON always shows field by field, so that each can be merged alone
	replaced bool // a list of structs that takes the place of the one that was
	whole    bool // a list of anything that does
	decoded  bool // a value that reads its own JSON, and takes the place of the one that was
	// mergeKey is the name in JSON of the word by which the items of a list are merged, "" for anything else.
	mergeKey string
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
			alone := f.Type.Kind() == reflect.Struct && !decoded && !strings.Contains(options, "omitzero")
			whole := f.Type.Kind() == reflect.Slice && f.Tag.Get("patchStrategy") == ""
			replaced := whole && f.Type.Elem().Kind() == reflect.Struct
			fields[name] = structField{index: i, alone: alone, replaced: replaced, whole: whole, decoded: decoded, mergeKey: mergeKeyOf(f)}
		}
	}
	knownFields.Store(t, fields)
	return fields
}

// mergeKeyOf returns the word by which the items of a field are merged.
func mergeKeyOf(f reflect.StructField) string {
	key := f.Tag.Get("patchMergeKey")
	if key == "" || f.Tag.Get("patchStrategy") != "merge" || f.Type.Kind() != reflect.Slice || f.Type.Elem().Kind() != reflect.Struct {
		return ""
	}
	t := f.Type.Elem()
	if named, ok := fieldsOf(t)[key]; !ok || t.Field(named.index).Type.Kind() != reflect.String {
		return ""
	}
	return key
}

// patchWhole returns old with the patch applied to all of it.
// Upstream: apiserver endpoints/handlers strategicPatchObject and applyPatchToObject, v1.37.
func (t *Target) patchWhole(old call.Object, data []byte) (call.Object, error) {
	patch := map[string]any{}
	strict, err := kjson.UnmarshalStrict(data, &patch)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
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
		return nil, patchInvalid(fmt.Sprintf("%+v", patch), err) // as merging has left it, without some nulls
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
