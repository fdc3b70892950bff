package api

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// structField is a field that has a name in JSON.
type structField struct {
	name  string
	index int
	way   mergeWay
	key   string // of the items of a list that is merged by key
	null  bool   // JSON shows it when it is empty: a list without items is null, with which the library merges no other
}

// mergeWay is how a strategic merge patch changes a field.
type mergeWay int

const (
	byMaps          mergeWay = iota // converted to maps: all that the others are not
	byField                         // a struct, or a pointer to one, of which a patch may change single fields
	byKey                           // a list of structs in which items with the same key are merged
	byReplacing                     // a word or number
	byTexts                         // a map of texts, if nothing in the patch is unusual
	byReplacingText                 // a time or quantity, if the patch has it as a text
	byReplacingList                 // a list that is not merged, if nothing in it is to be removed
)

var knownFields sync.Map // reflect.Type to map[string]*structField, filled when needed

// fieldsOf are the struct's fields by their names in JSON, without those of embedded
// structs.
func fieldsOf(t reflect.Type) map[string]*structField {
	if known, ok := knownFields.Load(t); ok {
		return known.(map[string]*structField)
	}
	fields := map[string]*structField{}
	for i := range t.NumField() {
		if name := jsonName(t.Field(i)); name != "" && name != "-" {
			field := structFieldOf(t.Field(i))
			field.name, field.index = name, i
			field.null = !strings.Contains(t.Field(i).Tag.Get("json"), ",omitempty")
			fields[name] = &field
		}
	}
	knownFields.Store(t, fields)
	return fields
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func structFieldOf(f reflect.StructField) structField {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch strategy := f.Tag.Get("patchStrategy"); {
	case t == reflect.TypeFor[metav1.Time]() || t == reflect.TypeFor[resource.Quantity]():
		return structField{way: byReplacingText}
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
	case strategy == "merge" && hasTextKey(t, f.Tag.Get("patchMergeKey")):
		return structField{way: byKey, key: f.Tag.Get("patchMergeKey")}
	case strategy == "":
		return structField{way: mergeWayOf(f.Type, f.Tag.Get("json"))}
	}
	return structField{way: byMaps}
}

// hasTextKey says whether t is a list of structs that have a text of that name in JSON.
func hasTextKey(t reflect.Type, key string) bool {
	if t.Kind() != reflect.Slice || t.Elem().Kind() != reflect.Struct {
		return false
	}
	for i := range t.Elem().NumField() {
		if f := t.Elem().Field(i); jsonName(f) == key {
			return f.Type.Kind() == reflect.String
		}
	}
	return false
}

// mergeWayOf is that of a field without a patch strategy.
func mergeWayOf(t reflect.Type, tag string) mergeWay {
	switch t.Kind() {
	case reflect.Struct:
		if !strings.Contains(tag, "omitzero") { // it is always there
			return byField
		}
	case reflect.Map:
		if t == reflect.TypeFor[map[string]string]() {
			return byTexts
		}
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 {
			return byReplacingList
		}
	case reflect.Pointer:
		if way := mergeWayOf(t.Elem(), tag); t.Elem().Kind() != reflect.Pointer && (way == byReplacing || way == byField) {
			return way
		}
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64:
		return byReplacing
	}
	return byMaps
}
