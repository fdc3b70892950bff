package call

import (
	"encoding/json"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
)

// Object is an object in the store, typed or unstructured.
type Object interface {
	runtime.Object
	metav1.Object
}

// Metadata reads the metadata of an unstructured object. The error says which of them has the wrong type.
// Upstream: apiextensions-apiserver schema/objectmeta GetObjectMetaWithOptions, v1.37.2.
func Metadata(obj map[string]any) (*metav1.ObjectMeta, error) {
	m := &metav1.ObjectMeta{}
	text, err := json.Marshal(obj["metadata"])
	if err == nil {
		err = kjson.UnmarshalCaseSensitivePreserveInts(text, m)
	}
	return m, err
}

// CanonicalMetadata drops what is no metadata from those of an unstructured object. The error
// says which of them has the wrong type.
// Upstream: apiextensions-apiserver schema/objectmeta GetObjectMetaWithOptions and SetObjectMeta, v1.37.
func CanonicalMetadata(u *unstructured.Unstructured) error {
	if u.Object["metadata"] == nil {
		u.Object["metadata"] = map[string]any{}
		return nil
	}
	m, err := Metadata(u.Object)
	if err != nil {
		return err
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(m)
	if err != nil {
		return err
	}
	if m.CreationTimestamp.IsZero() {
		delete(fields, "creationTimestamp")
	}
	u.Object["metadata"] = fields
	return nil
}

// Labelled returns an object that says its kind: itself if it does, and else a copy, of a struct only the outermost one.
func Labelled(obj runtime.Object, gvk schema.GroupVersionKind) runtime.Object {
	if obj.GetObjectKind().GroupVersionKind() == gvk {
		return obj
	}
	var out runtime.Object
	if _, isMap := obj.(*unstructured.Unstructured); isMap { // its kind is in the map
		out = obj.DeepCopyObject()
	} else {
		shallow := reflect.New(reflect.TypeOf(obj).Elem())
		shallow.Elem().Set(reflect.ValueOf(obj).Elem())
		out = shallow.Interface().(runtime.Object)
	}
	out.GetObjectKind().SetGroupVersionKind(gvk)
	return out
}
