package openapi

import (
	"maps"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What is said of the fields that all objects have.
const (
	apiConventions     = "More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
	metadataDoc        = "Standard object's metadata. " + apiConventions + "#metadata"
	embeddedVersionDoc = "apiVersion defines the versioned schema of this representation of an object. " + apiConventions + "#resources"
	embeddedKindDoc    = "kind is a string value representing the type of this object. In CamelCase. " + apiConventions + "#types-kinds"
)

// withEmbedded returns a schema of a custom resource in which each embedded object has the fields that
// all objects have. The schema itself stays as it is.
// Upstream: apiextensions-apiserver controller/openapi/builder addEmbeddedProperties, v1.37.
func (s *Schemas) withEmbedded(in Object) Object {
	out := maps.Clone(in)
	if properties, ok := out["properties"].(Object); ok {
		replaced := Object{}
		for name, property := range properties {
			replaced[name] = property
			if schema, ok := property.(Object); ok {
				replaced[name] = s.withEmbedded(schema)
			}
		}
		out["properties"] = replaced
	}
	for _, name := range []string{"items", "additionalProperties"} {
		if schema, ok := out[name].(Object); ok {
			out[name] = s.withEmbedded(schema)
		}
	}
	if out["x-kubernetes-embedded-resource"] == true && !(s.V2 && out[preserveUnknown] == true) { // kubectl would refuse all other fields
		s.embed(out)
	}
	return out
}

// embed adds what all objects have to the schema of an embedded one.
func (s *Schemas) embed(out Object) {
	all := Object{}
	if properties, ok := out["properties"].(Object); ok {
		maps.Copy(all, properties)
	}
	all["apiVersion"] = Object{"type": "string", "description": embeddedVersionDoc}
	all["kind"] = Object{"type": "string", "description": embeddedKindDoc}
	all["metadata"] = s.described(s.Prefix+s.add(reflect.TypeFor[metav1.ObjectMeta]()), metadataDoc)
	out["properties"] = all
	required, _ := out["required"].([]any)
	required = slices.Clone(required)
	for _, name := range []any{"kind", "apiVersion"} {
		if !slices.Contains(required, name) {
			required = append(required, name)
		}
	}
	out["required"] = required
}
