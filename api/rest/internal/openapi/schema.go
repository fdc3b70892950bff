// Package openapi describes the kinds of an API server as OpenAPI does, from their Go
// types: fields and their types from the JSON tags, descriptions from SwaggerDoc. kubectl
// explain prints it, and kubectl and other clients read from it how lists are
// merged.
package openapi

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Object is a JSON object of an OpenAPI document.
type Object = map[string]any

// Schemas collects the schemas of Go types under their names.
type Schemas struct {
	// Prefix is the beginning of a reference, such as "#/components/schemas/".
	Prefix string
	// ByName are the schemas that were asked for, and those that they refer to.
	ByName map[string]Object
	// V2 has the schemas written as OpenAPI v2 does; default: v3.
	V2 bool
}

// named is implemented by the types of the Kubernetes API.
type named interface{ OpenAPIModelName() string }

// typed is implemented by types whose JSON is not that of their Go type.
type typed interface {
	OpenAPISchemaType() []string
	OpenAPISchemaFormat() string
}

// oneOf is implemented by types that have several forms.
type oneOf interface{ OpenAPIV3OneOfTypes() []string }

// documented is implemented by structs whose fields are described. The description of
// the struct itself is under "".
type documented interface{ SwaggerDoc() map[string]string }

// Kind adds the schema of a kind.
func (s *Schemas) Kind(t reflect.Type, gvk schema.GroupVersionKind) {
	name := s.add(t)
	kinds, _ := s.ByName[name]["x-kubernetes-group-version-kind"].([]Object)
	s.ByName[name]["x-kubernetes-group-version-kind"] = append(kinds, identity(gvk))
}

// Name returns the name of the schema of a Go type.
func Name(t reflect.Type) string {
	if n, ok := reflect.Zero(t).Interface().(named); ok {
		return n.OpenAPIModelName()
	}
	path := strings.Split(t.PkgPath(), "/")
	host := strings.Split(path[0], ".")
	for i, j := 0, len(host)-1; i < j; i, j = i+1, j-1 {
		host[i], host[j] = host[j], host[i]
	}
	return strings.Join(append(host, append(path[1:], t.Name())...), ".")
}

func identity(gvk schema.GroupVersionKind) Object {
	return Object{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind}
}

// add makes the schema of a type that has a name, once.
func (s *Schemas) add(t reflect.Type) string {
	name := Name(t)
	if _, ok := s.ByName[name]; ok {
		return name
	}
	out := Object{}
	s.ByName[name] = out // before its fields, which may refer to it
	zero := reflect.Zero(t).Interface()
	docs := map[string]string{}
	if d, ok := zero.(documented); ok {
		docs = d.SwaggerDoc()
	}
	if text := docs[""]; text != "" {
		out["description"] = text
	}
	if s.special(out, zero) {
		return name
	}
	properties, required := Object{}, []string{}
	s.fields(t, docs, properties, &required)
	out["type"] = "object"
	if len(properties) > 0 {
		out["properties"] = properties
	}
	if len(required) > 0 {
		out["required"] = required
	}
	return name
}

// special fills in the schema of a type that is not written field by field.
func (s *Schemas) special(out Object, zero any) bool {
	if several, ok := zero.(oneOf); ok && !s.V2 {
		forms := []Object{}
		for _, form := range several.OpenAPIV3OneOfTypes() {
			forms = append(forms, Object{"type": form})
		}
		out["oneOf"] = forms
		return true
	}
	t, ok := zero.(typed)
	if !ok {
		return false
	}
	if types := t.OpenAPISchemaType(); len(types) > 0 {
		out["type"] = types[0]
	}
	if format := t.OpenAPISchemaFormat(); format != "" {
		out["format"] = format
	}
	return true
}

// fields adds the fields of a struct to properties, and the names of those that cannot be left out to required. The fields of an embedded
// struct count as its own.
func (s *Schemas) fields(t reflect.Type, docs map[string]string, properties Object, required *[]string) {
	for _, f := range reflect.VisibleFields(t) {
		if len(f.Index) > 1 || !f.IsExported() {
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		if name == "" && f.Anonymous {
			embedded := f.Type
			inner := map[string]string{}
			if d, ok := reflect.Zero(embedded).Interface().(documented); ok {
				inner = d.SwaggerDoc()
			}
			s.fields(embedded, inner, properties, required)
			continue
		}
		properties[name] = s.property(f, docs[name])
		if f.Type.Kind() != reflect.Pointer && !strings.Contains(options, "omit") {
			*required = append(*required, name)
		}
	}
}

// property returns the schema of a field.
func (s *Schemas) property(f reflect.StructField, doc string) Object {
	p := s.of(f.Type)
	if ref, ok := p["$ref"]; ok && doc != "" {
		p = s.described(ref.(string), doc)
	} else if doc != "" {
		p["description"] = doc
	}
	if strategy := f.Tag.Get("patchStrategy"); strategy != "" {
		p["x-kubernetes-patch-strategy"] = strategy
	}
	if key := f.Tag.Get("patchMergeKey"); key != "" {
		p["x-kubernetes-patch-merge-key"] = key
		p["x-kubernetes-list-map-keys"] = []string{key}
		p["x-kubernetes-list-type"] = "map"
	}
	return p
}

// described returns a reference with a description. In v3 a reference has none of its own.
func (s *Schemas) described(ref, doc string) Object {
	if s.V2 {
		return Object{"$ref": ref, "description": doc}
	}
	return Object{"allOf": []Object{{"$ref": ref}}, "description": doc}
}

// of returns the schema of a type: a reference if it has a name.
func (s *Schemas) of(t reflect.Type) Object {
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Struct:
		return Object{"$ref": s.Prefix + s.add(t)}
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return Object{"type": "string", "format": "byte"}
		}
		return Object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return Object{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.String:
		return Object{"type": "string"}
	case reflect.Bool:
		return Object{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return Object{"type": "number", "format": "double"}
	case reflect.Int64, reflect.Int, reflect.Uint64:
		return Object{"type": "integer", "format": "int64"}
	case reflect.Int32, reflect.Int16, reflect.Int8, reflect.Uint32, reflect.Uint16, reflect.Uint8:
		return Object{"type": "integer", "format": "int32"}
	}
	return Object{} // anything
}
