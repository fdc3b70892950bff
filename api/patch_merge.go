package api

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"

	kjson "sigs.k8s.io/json"

	"github.com/storagesim/storagesim/internal/quantity"
)

// A JSON merge patch is applied to the fields of the object itself, as a strategic one is
// (strategic.go), where what it says of each field is of the field's type. It is simpler:
// there are no directives, and lists are replaced. All other patches are applied to the JSON
// of the whole object, which also finds what is wrong with them.

// mergeJSON is old with a JSON merge patch applied.
// Upstream: apiserver endpoints/handlers jsonPatcher.applyPatchToCurrentObject, v1.36.
func (r *request) mergeJSON(old object, data []byte) (object, error) {
	if r.kind.scheme != nil && !r.strict && json.Valid(data) && quantity.CheckJSON(data, r.kind.newObject()) == nil {
		if patch, ok := readPatch(r.kind.typ, data); ok {
			obj := r.copyFor(old, patch)
			if overwriteFields(reflect.ValueOf(obj).Elem(), patch) {
				return obj, nil
			}
		}
	}
	return r.patchJSON(r.patchable(old, data), data, mergePatch)
}

// overwriteFields gives the fields of a struct what the patch says of them. If it cannot, some
// of them may be changed.
func overwriteFields(target reflect.Value, patch []fieldPatch) bool {
	for _, p := range patch {
		if p.order != nil || p.remove != nil || !p.overwrite(target.Field(p.index)) {
			return false
		}
	}
	return true
}

// overwrite gives a field the patch's value, if it is one of the field's type.
func (p fieldPatch) overwrite(field reflect.Value) bool {
	switch first := p.value[0]; {
	case isNull(p.value):
		field.SetZero()
		return true
	case p.way == byField && first == '{':
		return overwriteStruct(field, p.value)
	case p.way == byTexts && first == '{':
		return mergeTexts(field, p.value)
	case field.Kind() == reflect.Slice && first == '[' && !bytes.Contains(p.value, []byte("null")):
		return decodeInto(field, p.value)
	case p.way == byReplacing && first != '{', p.way == byReplacingText && first == '"':
		return replace(field, p.value)
	}
	return false
}

// overwriteStruct changes the fields of a struct, or of one that is pointed to, that the text
// names.
func overwriteStruct(field reflect.Value, text []byte) bool {
	if field.Kind() == reflect.Pointer {
		if field.IsNil() {
			field.Set(reflect.New(field.Type().Elem()))
		}
		return overwriteStruct(field.Elem(), text)
	}
	patch, ok := readPatch(field.Type(), text)
	return ok && overwriteFields(field, patch)
}

// mergeTexts sets and deletes members of a map of texts, such as annotations. If it cannot,
// the map is as it was: so it is with directives, and where nothing would be left.
func mergeTexts(field reflect.Value, text []byte) bool {
	outcome := maps.Clone(field.Interface().(map[string]string))
	if outcome == nil {
		outcome = map[string]string{}
	}
	ok := jsonMembers(text, func(name, value []byte) bool {
		switch {
		case len(name) > 0 && name[0] == '$':
			return false
		case isNull(value):
			delete(outcome, string(name))
		case isPlain(value):
			outcome[string(name)] = string(value[1 : len(value)-1])
		default:
			return false
		}
		return true
	})
	if ok = ok && len(outcome) > 0; ok {
		field.Set(reflect.ValueOf(outcome))
	}
	return ok
}

// decodeInto gives the field the value that the text has, if it is strictly one of the
// field's type.
func decodeInto(field reflect.Value, text []byte) bool {
	made := reflect.New(field.Type())
	strict, err := kjson.UnmarshalStrict(text, made.Interface())
	if err != nil || len(strict) > 0 {
		return false
	}
	field.Set(made.Elem())
	return true
}
