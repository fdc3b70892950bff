package crd

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// types are what server-side apply has to know of the fields of a kind.
func (s *shape) types(group, version, kind string) (managedfields.TypeConverter, error) {
	root := *s.structural.StripValueValidations().ToKubeOpenAPI()
	root.AddExtension("x-kubernetes-group-version-kind", []any{map[string]any{"group": group, "version": version, "kind": kind}})
	properties := map[string]spec.Schema{"apiVersion": *spec.StringProperty(), "kind": *spec.StringProperty(), "metadata": metadata()}
	for name, property := range root.Properties {
		if _, ours := properties[name]; !ours {
			properties[name] = property
		}
	}
	root.Properties = properties
	return managedfields.NewTypeConverter(map[string]*spec.Schema{group + "." + version + "." + kind: &root}, s.preserve)
}

// metadata are the lists in the metadata of an object that are merged; all other fields have
// types that are seen from the object.
// Upstream: apimachinery meta/v1 ObjectMeta, v1.36: the markers on its fields.
func metadata() spec.Schema {
	text := `{"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
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

// published is the schema as OpenAPI shows it to clients.
// Upstream: controller/openapi/builder BuildOpenAPIV3, v1.36.
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
