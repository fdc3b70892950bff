package patch

import (
	"encoding/json"
	"sync"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// formTypes returns what server-side apply has to know of the fields of another form of objects. That of a form other than a Scale is found out from
// each object.
func formTypes(gvk schema.GroupVersionKind) managedfields.TypeConverter {
	if gvk == autoscalingv1.SchemeGroupVersion.WithKind("Scale") {
		return scaleTypes()
	}
	return managedfields.NewDeducedTypeConverter()
}

// scaleTypes has the types of the fields of a Scale.
var scaleTypes = sync.OnceValue(func() managedfields.TypeConverter {
	s := mustSchema(`{"type": "object", "x-kubernetes-group-version-kind": [{"group": "autoscaling", "version": "v1", "kind": "Scale"}], "properties": {
		"apiVersion": {"type": "string"}, "kind": {"type": "string"},
		"spec": {"type": "object", "properties": {"replicas": {"type": "integer", "format": "int32"}}},
		"status": {"type": "object", "properties": {"replicas": {"type": "integer", "format": "int32"}, "selector": {"type": "string"}}}}}`)
	s.Properties["metadata"] = MetadataSchema()
	types, err := managedfields.NewTypeConverter(map[string]*spec.Schema{"autoscaling.v1.Scale": &s}, false)
	if err != nil {
		panic(err) // the schema is a constant
	}
	return types
})

// MetadataSchema returns the fields of the metadata of an object, and how its lists are merged.
// Upstream: apimachinery meta/v1 ObjectMeta, v1.37: the markers on its fields.
func MetadataSchema() spec.Schema {
	text := `{"type": "object", "properties": {
		"annotations": {"type": "object", "additionalProperties": {"type": "string"}},
		"creationTimestamp": {"type": "string"}, "deletionGracePeriodSeconds": {"type": "integer"}, "deletionTimestamp": {"type": "string"},
		"generateName": {"type": "string"}, "generation": {"type": "integer"},
		"labels": {"type": "object", "additionalProperties": {"type": "string"}},
		"managedFields": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
		"name": {"type": "string"}, "namespace": {"type": "string"}, "resourceVersion": {"type": "string"}, "selfLink": {"type": "string"},
			"uid": {"type": "string"},
		"finalizers": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
		"ownerReferences": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"], "items": {
			"type": "object", "x-kubernetes-map-type": "atomic", "properties": {
				"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "name": {"type": "string"}, "uid": {"type": "string"},
				"controller": {"type": "boolean"}, "blockOwnerDeletion": {"type": "boolean"}}}}}}`
	return mustSchema(text)
}

// mustSchema reads a schema that is a constant.
func mustSchema(text string) (s spec.Schema) {
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		panic(err)
	}
	return s
}
