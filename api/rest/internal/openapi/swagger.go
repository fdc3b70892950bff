package openapi

import (
	"maps"
	"slices"
)

// Swagger describes the resources of all groups and versions in OpenAPI v2, in one document.
func Swagger(release string, resources []Resource) Object {
	s := &Schemas{Prefix: "#/definitions/", ByName: map[string]Object{}, V2: true}
	paths := s.resources(resources)
	return Object{
		"swagger": "2.0", "info": Object{"title": "Kubernetes", "version": release},
		"paths": paths, "definitions": s.ByName,
	}
}

// preserveUnknown marks objects that keep fields that their schema does not name.
const preserveUnknown = "x-kubernetes-preserve-unknown-fields"

// swaggerSchema returns a schema of a custom resource without what OpenAPI v2 does not have, and
// without what kubectl misreads there. The schema itself stays as it is.
// Upstream: apiextensions-apiserver controller/openapi/v2 ToStructuralOpenAPIV2, v1.37.
func swaggerSchema(in Object) Object {
	out := maps.Clone(in)
	if out == nil {
		out = Object{}
	}
	for _, junctor := range []string{"allOf", "anyOf", "oneOf", "not"} {
		delete(out, junctor)
	}
	nullable, preserve := out["nullable"] == true, out[preserveUnknown] == true
	if nullable || preserve {
		delete(out, "items")
		delete(out, "properties")
	}
	if nullable || preserve && out["type"] == "object" || out["type"] == "array" && out["items"] == nil {
		delete(out, "type")
	}
	delete(out, "nullable")
	swaggerProperties(out)
	if items, ok := out["items"].(Object); ok {
		out["items"] = swaggerSchema(items)
	}
	if values, ok := out["additionalProperties"].(Object); ok {
		if values["nullable"] == true {
			delete(out, "required")
		}
		out["additionalProperties"] = swaggerSchema(values)
	}
	return out
}

// swaggerProperties replaces the schemas of the properties. A property that may be null is
// not required.
func swaggerProperties(out Object) {
	properties, ok := out["properties"].(Object)
	if !ok {
		return
	}
	replaced := Object{}
	required, _ := out["required"].([]any)
	required = slices.Clone(required)
	for name, property := range properties {
		schema, ok := property.(Object)
		if !ok {
			continue
		}
		if schema["nullable"] == true {
			required = slices.DeleteFunc(required, func(r any) bool { return r == name })
		}
		replaced[name] = swaggerSchema(schema)
	}
	out["properties"] = replaced
	if delete(out, "required"); len(required) > 0 {
		out["required"] = required
	}
}

// parameter returns a parameter of a request, in its query or its path.
func (s *Schemas) parameter(name, in string) Object {
	if s.V2 {
		return Object{"name": name, "in": in, "type": "string", "uniqueItems": true}
	}
	return Object{"name": name, "in": in, "schema": Object{"type": "string", "uniqueItems": true}}
}

// body returns the parameter that stands for the body in OpenAPI v2, if the action has one.
func body(action string, ref Object) []Object {
	switch action {
	case "patch":
		ref = Object{"type": "object"}
	case "post", "put":
	default:
		return nil
	}
	return []Object{{"name": "body", "in": "body", "required": true, "schema": ref}}
}

// produced are the forms of answers in OpenAPI v2.
var produced = []string{"application/json", "application/yaml", "application/vnd.kubernetes.protobuf"}

// consumed returns the forms of bodies in OpenAPI v2. kubectl apply sends the patch that it
// finds here; custom resources have no strategic merge patch.
func (r Resource) consumed(action string) []string {
	if action != "patch" {
		return produced
	}
	forms := []string{"application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"}
	if r.Type != nil {
		forms = append(forms, "application/strategic-merge-patch+json")
	}
	return forms
}
