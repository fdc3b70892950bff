package registry

import (
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/internal/semantic"
)

// half is the spec or the status of the objects of a kind: the index of the field in the Go struct, -1 if there is none. Of
// unstructured objects it is an index of unstructuredParts.
type half int

// unstructuredParts are the fields of unstructured objects.
var unstructuredParts = [...]string{"spec", "status"}

// Exists reports whether the objects have the field.
func (h half) Exists() bool { return h >= 0 }

// Keep copies the field from old to obj.
func (h half) Keep(obj, old runtime.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		name := unstructuredParts[h]
		if value, there := old.(*unstructured.Unstructured).Object[name]; there {
			u.Object[name] = runtime.DeepCopyJSONValue(value)
		} else {
			delete(u.Object, name)
		}
		return
	}
	reflect.ValueOf(obj).Elem().Field(int(h)).Set(reflect.ValueOf(old).Elem().Field(int(h)))
}

// Drop empties the field.
func (h half) Drop(obj runtime.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		delete(u.Object, unstructuredParts[h])
		return
	}
	reflect.ValueOf(obj).Elem().Field(int(h)).SetZero()
}

// Same reports whether two objects have the same in the field.
func (h half) Same(a, b runtime.Object) bool {
	if u, ok := a.(*unstructured.Unstructured); ok {
		name := unstructuredParts[h]
		return semantic.Equal(u.Object[name], b.(*unstructured.Unstructured).Object[name])
	}
	x, y := reflect.ValueOf(a).Elem().Field(int(h)), reflect.ValueOf(b).Elem().Field(int(h))
	return semantic.Equal(x.Addr().Interface(), y.Addr().Interface())
}

// SameButMetadata reports whether two objects of a Go type have the same in all fields but the metadata.
func (k *Entry) SameButMetadata(a, b runtime.Object) bool {
	x, y := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for i := range x.NumField() {
		if x.Type().Field(i).Anonymous { // the kind and the metadata
			continue
		}
		if !semantic.Equal(x.Field(i).Addr().Interface(), y.Field(i).Addr().Interface()) {
			return false
		}
	}
	return true
}
