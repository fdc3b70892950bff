package crd

import (
	"encoding/json"
	"maps"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/client/applyconfiguration"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// definitionTypes has the types of the fields of definitions themselves, which take a while to read.
var definitionTypes = sync.OnceValue(func() managedfields.TypeConverter { return applyconfiguration.NewTypeConverter(scheme()) })

// onApply is definitionTypes, read when the first definition is applied.
type onApply struct{}

// ObjectToTyped implements managedfields.TypeConverter.
func (onApply) ObjectToTyped(obj runtime.Object, opts ...typed.ValidationOptions) (*typed.TypedValue, error) {
	return definitionTypes().ObjectToTyped(obj, opts...)
}

// TypedToObject implements managedfields.TypeConverter.
func (onApply) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	return definitionTypes().TypedToObject(value)
}

// types returns what server-side apply has to know of the fields of a kind.
func (s *shape) types(group, version, kind string) (managedfields.TypeConverter, error) {
	root := *s.structural.StripValueValidations().ToKubeOpenAPI()
	embed(&root)
	root.AddExtension("x-kubernetes-group-version-kind", []any{map[string]any{"group": group, "version": version, "kind": kind}})
	addMeta(&root)
	return managedfields.NewTypeConverter(map[string]*spec.Schema{group + "." + version + "." + kind: &root}, s.preserve)
}

// embed adds to the schemas of embedded objects what all objects have.
// Upstream: controller/openapi/builder addEmbeddedProperties, v1.37.
func embed(s *spec.Schema) {
	for name, property := range s.Properties {
		embed(&property)
		s.Properties[name] = property
	}
	if s.Items != nil && s.Items.Schema != nil {
		embed(s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		embed(s.AdditionalProperties.Schema)
	}
	if is, _ := s.Extensions.GetBool("x-kubernetes-embedded-resource"); is {
		addMeta(s)
	}
}

// addMeta adds the fields that all objects have, in place of what a schema says of them.
func addMeta(s *spec.Schema) {
	properties := maps.Clone(s.Properties)
	if properties == nil {
		properties = map[string]spec.Schema{}
	}
	properties["apiVersion"], properties["kind"], properties["metadata"] = *spec.StringProperty(), *spec.StringProperty(), metadata()
	s.Properties = properties
}

// metadata returns the fields of the metadata of an object, and how its lists are merged.
// Upstream: apimachinery meta/v1 ObjectMeta, v1.37: the markers on its fields.
func metadata() spec.Schema {
	text := `{"type": "object", "properties": {
		"annotations": {"type": "object", "additionalProperties": {"type": "string"}},
		"creationTimestamp": {"type": "string"}, "deletionGracePeriodSeconds": {"type": "integer"}, "deletionTimestamp": {"type": "string"},
		"generateName": {"type": "string"}, "generation": {"type": "integer"},
		"labels": {"type": "object", "additionalProperties": {"type": "string"}},
		"managedFields": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
		"name": {"type": "string"}, "namespace": {"type": "string"}, "resourceVersion": {"type": "string"}, "selfLink": {"type": "string"}, "uid": {"type": "string"},
		"finalizers": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
		"ownerReferences": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"], "items": {
			"type": "object", "x-kubernetes-map-type": "atomic", "properties": {
				"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "name": {"type": "string"}, "uid": {"type": "string"},
				"controller": {"type": "boolean"}, "blockOwnerDeletion": {"type": "boolean"}}}}}}`
	var s spec.Schema
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		panic(err) // the text is a constant
	}
	return s
}

// published returns the schema as OpenAPI shows it to clients.
// Upstream: controller/openapi/builder BuildOpenAPIV3, v1.37.
func (s *shape) published() map[string]any {
	text, err := json.Marshal(s.structural.ToKubeOpenAPI())
	out := map[string]any{}
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		return nil // it was JSON before
	}
	return out
}
