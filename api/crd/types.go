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

	"github.com/storagesim/storagesim/api/patch"
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
	properties["apiVersion"], properties["kind"], properties["metadata"] = *spec.StringProperty(), *spec.StringProperty(), patch.MetadataSchema()
	s.Properties = properties
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
