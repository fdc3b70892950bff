package patch

import (
	"encoding/json"
	"reflect"

	kjson "sigs.k8s.io/json"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/internal/quantity"
)

// mergedFields returns old with a JSON merge patch applied to the fields that it names. It returns false where that may give another result than
// the library gives for the whole object, or another error: then the library decides.
func (t *Target) mergedFields(old call.Object, data []byte) (call.Object, bool) {
	if t.Kind.Scheme == nil || t.Strict || t.Warn != nil || quantity.CheckJSON(data, old) != nil {
		return nil, false
	}
	var patch map[string]any
	if kjson.UnmarshalCaseSensitivePreserveInts(data, &patch) != nil || patch == nil {
		return nil, false
	}
	obj := t.copyFor(old, patch)
	return obj, mergeFields(reflect.ValueOf(obj).Elem(), patch)
}

// mergeFields merges a JSON merge patch into the fields of a struct. It reports whether it did; if not, some of them may be changed.
func mergeFields(target reflect.Value, patch map[string]any) bool {
	fields := fieldsOf(target.Type())
	for key, value := range patch {
		about, known := fields[key]
		if !known || !mergeValue(target.Field(about.index), value, about.alone) {
			return false
		}
	}
	return true
}

// mergeValue merges what a JSON merge patch says of a field. Whether a struct is shown field by field, alone says.
func mergeValue(field reflect.Value, value any, alone bool) bool {
	switch value := value.(type) {
	case map[string]any:
		switch field.Kind() {
		case reflect.Pointer:
			return mergePointer(field, value)
		case reflect.Map:
			return mergeMap(field, value)
		}
		return alone && mergeFields(field, value)
	case []any:
		return replaceList(field, value)
	}
	done, err := merger{}.mergeField(field, value, structField{})
	return done && err == nil
}

// mergePointer merges a patch of the struct that a field points to.
func mergePointer(field reflect.Value, patch map[string]any) bool {
	to := reflect.New(field.Type().Elem())
	if _, decoded := to.Interface().(json.Unmarshaler); decoded || to.Elem().Kind() != reflect.Struct {
		return false
	}
	if !field.IsNil() {
		to.Elem().Set(field.Elem())
	}
	field.Set(to)
	return mergeFields(to.Elem(), patch)
}

// mergeMap merges a patch of a map of single words, such as labels.
func mergeMap(field reflect.Value, patch map[string]any) bool {
	t := field.Type()
	if _, decoded := field.Addr().Interface().(json.Unmarshaler); decoded || t.Key().Kind() != reflect.String {
		return false
	}
	if field.IsNil() {
		field.Set(reflect.MakeMap(t))
	}
	for name, value := range patch {
		key := reflect.ValueOf(name).Convert(t.Key())
		if value == nil {
			field.SetMapIndex(key, reflect.Value{})
			continue
		}
		item := reflect.New(t.Elem()).Elem()
		if _, isMap := value.(map[string]any); isMap || !mergeValue(item, value, false) {
			return false
		}
		field.SetMapIndex(key, item)
	}
	return true
}

// replaceList puts a list in place of that of a field.
func replaceList(field reflect.Value, list []any) bool {
	to := reflect.New(field.Type())
	if _, decoded := to.Interface().(json.Unmarshaler); decoded || field.Kind() != reflect.Slice || !isExact(list) {
		return false
	}
	text, err := json.Marshal(list)
	if err != nil || kjson.UnmarshalCaseSensitivePreserveInts(text, to.Interface()) != nil {
		return false
	}
	field.Set(to.Elem())
	return true
}

// isExact reports whether a value has no nulls in it, which the library drops, and no numbers that may be written in another way.
func isExact(value any) bool {
	switch value := value.(type) {
	case nil, float64:
		return false
	case map[string]any:
		for _, v := range value {
			if !isExact(v) {
				return false
			}
		}
	case []any:
		for _, v := range value {
			if !isExact(v) {
				return false
			}
		}
	}
	return true
}
