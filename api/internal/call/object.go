package call

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
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
