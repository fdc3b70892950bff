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
	index int
	way   mergeWay
}

// mergeWay is how a strategic merge patch changes a field.
type mergeWay int

const (
	byMaps          mergeWay = iota // converted to maps: all that the others are not
	byField                         // a struct, of which a patch may change single fields
	byReplacing                     // a word or number
	byReplacingText                 // a time or quantity, if the patch has it as a text
	byReplacingList                 // a list that is not merged, if nothing in it is to be removed
)

var knownFields sync.Map // reflect.Type to map[string]structField, filled when needed

// fieldsOf are the struct's fields by their names in JSON, without those of embedded
// structs.
func fieldsOf(t reflect.Type) map[string]structField {
	if known, ok := knownFields.Load(t); ok {
		return known.(map[string]structField)
	}
	fields := map[string]structField{}
	for i := range t.NumField() {
		if name := jsonName(t.Field(i)); name != "" && name != "-" {
			fields[name] = structFieldOf(t.Field(i), i)
		}
	}
	knownFields.Store(t, fields)
	return fields
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func structFieldOf(f reflect.StructField, index int) structField {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	way := byMaps
	switch {
	case t == reflect.TypeFor[metav1.Time]() || t == reflect.TypeFor[resource.Quantity]():
		way = byReplacingText
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
	case f.Tag.Get("patchStrategy") == "":
		way = mergeWayOf(f.Type, f.Tag.Get("json"))
	}
	return structField{index: index, way: way}
}

// mergeWayOf is that of a field without a patch strategy.
func mergeWayOf(t reflect.Type, tag string) mergeWay {
	switch t.Kind() {
	case reflect.Struct:
		if !strings.Contains(tag, "omitzero") { // it is always there
			return byField
		}
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 {
			return byReplacingList
		}
	case reflect.Pointer:
		if k := t.Elem().Kind(); k != reflect.Pointer && mergeWayOf(t.Elem(), tag) == byReplacing {
			return byReplacing
		}
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64:
		return byReplacing
	}
	return byMaps
}
