package trace

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// changesBetween returns the fields that differ between two versions of an object, in order of
// path. It compares Go values and converts only differences to JSON types: most of an object is
// the same in both versions, and converting it is slow.
func changesBetween(old, new runtime.Object) []FieldChange {
	a, b := reflect.ValueOf(old), reflect.ValueOf(new)
	if a.Type() != b.Type() {
		return nil
	}
	var d differences
	if was, ok := old.(*unstructured.Unstructured); ok { // of a custom kind
		d.inFields(nil, was.Object, new.(*unstructured.Unstructured).Object)
		slices.SortFunc(d, func(x, y FieldChange) int { return slices.Compare(x.Path, y.Path) })
		return d
	}
	d.inStruct(nil, a.Elem(), b.Elem())
	slices.SortFunc(d, func(x, y FieldChange) int { return slices.Compare(x.Path, y.Path) })
	return d
}

type differences []FieldChange

// inStruct adds the differences of two structs.
func (d *differences) inStruct(path []string, a, b reflect.Value) {
	for _, f := range jsonFields(a.Type()) {
		was, is := a.Field(f.index), b.Field(f.index)
		switch {
		case !f.inline && isKeptByServer(path, f.name) || equal(was, is):
		case f.inline:
			d.inStruct(path, was, is)
		default:
			if f.isLeftOut(was) {
				was = reflect.Value{}
			}
			if f.isLeftOut(is) {
				is = reflect.Value{}
			}
			d.inField(append(slices.Clip(path), f.name), was, is)
		}
	}
}

// inField adds the difference of a field. A missing field is the zero Value.
func (d *differences) inField(path []string, was, is reflect.Value) {
	name := path[len(path)-1]
	was, is = content(was), content(is)
	switch {
	case !was.IsValid() && !is.IsValid():
	case !is.IsValid():
		*d = append(*d, FieldChange{Path: path, Removed: true, old: shown(path, was)})
	case !was.IsValid() && is.Kind() == reflect.Map && !is.IsNil() && (name == "annotations" || name == "labels"):
		d.inMap(path, is, is, false) // each key counts, also the first
	case !was.IsValid():
		*d = append(*d, FieldChange{Path: path, Value: shown(path, is)})
	case was.Kind() == reflect.Map && !was.IsNil() && !is.IsNil():
		d.inMap(path, was, is, true)
	case isObject(was) && isObject(is):
		d.inStruct(path, was, is)
	default:
		if before, after := shown(path, was), shown(path, is); !equalJSON(before, after) {
			*d = append(*d, FieldChange{Path: path, Value: after, old: before})
		}
	}
}

// inFields adds the differences of two objects in JSON types.
func (d *differences) inFields(path []string, was, is map[string]any) {
	for name, after := range is {
		if isKeptByServer(path, name) {
			continue
		}
		at := append(slices.Clip(path), name)
		before, had := was[name]
		fields, object := after.(map[string]any)
		others, alike := before.(map[string]any)
		switch {
		case object && (alike || !had && (name == "annotations" || name == "labels")):
			d.inFields(at, others, fields)
		case !had || !equalJSON(before, after):
			*d = append(*d, FieldChange{Path: at, Value: after, old: before})
		}
	}
	for name, before := range was {
		if _, has := is[name]; !has && !isKeptByServer(path, name) {
			*d = append(*d, FieldChange{Path: append(slices.Clip(path), name), Removed: true, old: before})
		}
	}
}

// inMap adds the differences of two maps. If had is false, the first is missing.
func (d *differences) inMap(path []string, was, is reflect.Value, had bool) {
	at := func(key reflect.Value) []string { return append(slices.Clip(path), key.String()) }
	for _, key := range is.MapKeys() {
		var before reflect.Value
		if had {
			before = addressable(was.MapIndex(key))
		}
		d.inField(at(key), before, addressable(is.MapIndex(key)))
	}
	for _, key := range was.MapKeys() {
		if !is.MapIndex(key).IsValid() {
			d.inField(at(key), addressable(was.MapIndex(key)), reflect.Value{})
		}
	}
}

// isKeptByServer reports whether the server maintains the field itself, or it is
// status.observedGeneration.
func isKeptByServer(path []string, name string) bool {
	switch {
	case len(path) == 0:
		return name == "kind" || name == "apiVersion"
	case len(path) == 1 && path[0] == "metadata":
		return slices.Contains([]string{"resourceVersion", "generation", "managedFields", "creationTimestamp"}, name)
	}
	return len(path) == 1 && path[0] == "status" && name == "observedGeneration"
}

// shown returns the value of a field as JSON types. It leaves out the fields of conditions that
// change with every write of a status.
func shown(path []string, v reflect.Value) any {
	value := jsonOf(v)
	if list, ok := value.([]any); ok && len(path) == 2 && path[0] == "status" && path[1] == "conditions" {
		for _, condition := range list {
			if m, ok := condition.(map[string]any); ok {
				delete(m, "observedGeneration")
				delete(m, "lastHeartbeatTime")
			}
		}
	}
	return value
}

// jsonOf returns a value as JSON types. It must be addressable.
func jsonOf(v reflect.Value) any {
	switch x := v.Addr().Interface().(type) {
	case *metav1.Time:
		if x.IsZero() {
			return nil
		}
		return x.UTC().Format(time.RFC3339)
	case *resource.Quantity:
		return x.String()
	case json.Marshaler:
		var value any
		if text, err := x.MarshalJSON(); err == nil {
			_ = utiljson.Unmarshal(text, &value) // with whole numbers
		}
		return value
	}
	switch v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Bool:
		return v.Bool()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int()
	case reflect.Float32, reflect.Float64:
		return v.Float()
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return jsonOf(addressable(v.Elem()))
	case reflect.Slice:
		return jsonOfList(v)
	case reflect.Map:
		if v.IsNil() {
			return nil
		}
		m := make(map[string]any, v.Len())
		for _, key := range v.MapKeys() {
			m[key.String()] = jsonOf(addressable(v.MapIndex(key)))
		}
		return m
	case reflect.Struct:
		m := map[string]any{}
		addFields(m, v)
		return m
	}
	return nil
}

func jsonOfList(v reflect.Value) any {
	switch {
	case v.IsNil():
		return nil
	case v.Type().Elem().Kind() == reflect.Uint8:
		return base64.StdEncoding.EncodeToString(v.Bytes())
	}
	list := make([]any, v.Len())
	for i := range list {
		list[i] = jsonOf(v.Index(i))
	}
	return list
}

func addFields(m map[string]any, v reflect.Value) {
	for _, f := range jsonFields(v.Type()) {
		switch field := v.Field(f.index); {
		case f.inline:
			addFields(m, field)
		case !f.isLeftOut(field):
			m[f.name] = jsonOf(field)
		}
	}
}

// jsonField is a field of a struct that its JSON has.
type jsonField struct {
	index     int
	name      string
	inline    bool // its fields are fields of the struct around it
	omitEmpty bool
	omitZero  bool
}

var knownFields sync.Map // reflect.Type to []jsonField, filled when needed

// jsonFields returns the fields of a struct that its JSON has.
func jsonFields(t reflect.Type) []jsonField {
	if known, ok := knownFields.Load(t); ok {
		return known.([]jsonField)
	}
	var fields []jsonField
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		inline := name == "" && f.Anonymous
		if name == "" {
			name = f.Name
		}
		if f.IsExported() && name != "-" {
			fields = append(fields, jsonField{i, name, inline, strings.Contains(options, "omitempty"), strings.Contains(options, "omitzero")})
		}
	}
	knownFields.Store(t, fields)
	return fields
}

// isLeftOut reports whether JSON omits the field with this value.
func (f jsonField) isLeftOut(v reflect.Value) bool {
	switch {
	case f.omitZero && v.IsZero():
		return true
	case !f.omitEmpty:
		return false
	}
	switch v.Kind() {
	case reflect.Map, reflect.Slice:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// equal reports whether two values of one type are the same. It does not look into maps and
// pointers that two versions share, which most are.
func equal(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Bool:
		return a.Bool() == b.Bool()
	case reflect.String:
		return a.String() == b.String()
	case reflect.Int, reflect.Int32, reflect.Int64:
		return a.Int() == b.Int()
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() && b.IsNil()
		}
		if a.Kind() != reflect.Slice && a.UnsafePointer() == b.UnsafePointer() {
			return true
		}
	}
	return reflect.DeepEqual(a.Addr().Interface(), b.Addr().Interface())
}

// content returns the value that v points to, or v if it is not a pointer.
func content(v reflect.Value) reflect.Value {
	if v.IsValid() && v.Kind() == reflect.Pointer && !v.IsNil() {
		return v.Elem()
	}
	return v
}

// isObject reports whether the value is an object in JSON.
func isObject(v reflect.Value) bool {
	if v.Kind() != reflect.Struct {
		return false
	}
	switch v.Addr().Interface().(type) {
	case *metav1.Time, json.Marshaler:
		return false
	}
	return true
}

// addressable returns a copy of the value whose address can be taken.
func addressable(v reflect.Value) reflect.Value {
	if !v.IsValid() || v.CanAddr() {
		return v
	}
	made := reflect.New(v.Type()).Elem()
	made.Set(v)
	return made
}

// equalJSON reports whether two values of JSON types are equal.
func equalJSON(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equalJSON)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equalJSON)
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}
