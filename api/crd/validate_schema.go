package crd

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	internal "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// schema says what is wrong with the schema of a version.
// Upstream: validateCustomResourceDefinitionValidation, v1.37.
func (p *problems) schema(v *internal.CustomResourceValidation, status bool, path *field.Path) {
	if v == nil || v.OpenAPIV3Schema == nil {
		return
	}
	path = path.Child("openAPIV3Schema")
	root := v.OpenAPIV3Schema
	before := len(p.list)
	if status {
		p.rootWithStatus(root, path)
	}
	if root.Nullable {
		p.forbidden(path.Child("nullable"), "nullable cannot be true at the root")
	}
	s, err := structural.NewStructural(root)
	if err == nil {
		if errs := structural.ValidateStructural(path, s); len(errs) > 0 {
			p.list = append(p.list, errs...)
		} else {
			p.defaults(s, s, path)
		}
	}
	p.node(root, path, place{root: true, defaults: true})
	if err != nil && len(p.list) == before {
		p.invalid(path, "", err.Error())
	}
}

// rootWithStatus: where the status is a subresource, its schema is taken out of that of the
// whole, so that little may be said at the root.
func (p *problems) rootWithStatus(root *internal.JSONSchemaProps, path *field.Path) {
	if root.Type != "" && root.Type != "object" {
		p.invalid(path.Child("type"), root.Type, `only "object" is allowed as the type at the root of the schema if the status subresource is enabled`)
		return
	}
	value := reflect.ValueOf(root).Elem()
	for i := range value.NumField() {
		if name := value.Type().Field(i).Name; !value.Field(i).IsZero() && !slices.Contains(strings.Fields(allowedAtRoot), name) {
			p.invalid(path, p.quoted(*root), fmt.Sprintf("only %v fields are allowed at the root of the schema if the status subresource is enabled",
				strings.Fields(allowedAtRoot)))
			return
		}
	}
}

const allowedAtRoot = "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems " +
	"UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations"

// place is the position of a part in a schema.
type place struct {
	root, inMeta bool
	// defaults are allowed, or else reason says why not.
	defaults bool
	reason   string
}

// node says what is wrong with one part of a schema, and with all below it.
// Upstream: ValidateCustomResourceDefinitionOpenAPISchema, v1.37.
func (p *problems) node(s *internal.JSONSchemaProps, path *field.Path, at place) {
	if s == nil {
		return
	}
	p.supported(s, path, at)
	if s.UniqueItems {
		p.forbidden(path.Child("uniqueItems"), "uniqueItems cannot be set to true since the runtime complexity becomes quadratic")
	}
	below := place{defaults: at.defaults, reason: at.reason, inMeta: at.inMeta}
	if more := s.AdditionalProperties; more != nil {
		if len(s.Properties) > 0 && (!more.Allows || more.Schema != nil) {
			p.forbidden(path.Child("additionalProperties"), "additionalProperties and properties are mutual exclusive")
		}
		values := below
		if at.inMeta {
			values.defaults, values.reason = false, "inside additionalProperties applying to object metadata"
		}
		p.node(more.Schema, path.Child("additionalProperties"), values)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property, inside := s.Properties[name], below
		if (at.root || s.XEmbeddedResource) && (name == "metadata" || name == "kind" || name == "apiVersion") {
			inside.inMeta = true
			if at.root {
				inside.defaults, inside.reason = false, "in top-level "+name
			}
		}
		p.node(&property, path.Child("properties").Key(name), inside)
	}
	p.node(s.Not, path.Child("not"), below)
	for _, list := range []struct {
		name string
		of   []internal.JSONSchemaProps
	}{{"allOf", s.AllOf}, {"oneOf", s.OneOf}, {"anyOf", s.AnyOf}} {
		for i := range list.of {
			p.node(&list.of[i], path.Child(list.name).Index(i), below)
		}
	}
	if s.Items != nil {
		p.node(s.Items.Schema, path.Child("items"), below)
	}
	p.extensions(s, path)
}

// supported refuses the parts of OpenAPI schemas that definitions do not support.
// Upstream: specStandardValidatorV3.validate, v1.37.
func (p *problems) supported(s *internal.JSONSchemaProps, path *field.Path, at place) {
	if types := []string{"array", "boolean", "integer", "number", "object", "string"}; s.Type != "" && !slices.Contains(types, s.Type) {
		p.list = append(p.list, field.NotSupported(path.Child("type"), s.Type, types))
	}
	if s.Default != nil && !at.defaults {
		p.forbidden(path.Child("default"), strings.TrimSpace("must not be set "+at.reason))
	}
	for _, f := range []struct {
		name string
		set  bool
		says string
	}{
		{"id", s.ID != "", "id is not supported"},
		{"additionalItems", s.AdditionalItems != nil, "additionalItems is not supported"},
		{"patternProperties", len(s.PatternProperties) > 0, "patternProperties is not supported"},
		{"definitions", len(s.Definitions) > 0, "definitions is not supported"},
		{"dependencies", s.Dependencies != nil, "dependencies is not supported"},
		{"$ref", s.Ref != nil, "$ref is not supported"},
		{"type", s.Type == "null", "type cannot be set to null, use nullable as an alternative"},
		{"items", s.Items != nil && len(s.Items.JSONSchemas) > 0, "items must be a schema object and not an array"},
		{"x-kubernetes-embedded-resource", at.inMeta && s.XEmbeddedResource, "must not be used inside of resource meta"},
	} {
		if f.set {
			p.forbidden(path.Child(f.name), f.says)
		}
	}
}

// extensions says what is wrong with the x-kubernetes- fields of a part.
func (p *problems) extensions(s *internal.JSONSchemaProps, path *field.Path) {
	if keep := s.XPreserveUnknownFields; keep != nil && !*keep {
		p.invalid(path.Child("x-kubernetes-preserve-unknown-fields"), false, "must be true or undefined")
	}
	if s.XMapType != nil {
		p.needsType(s, path, "object", "x-kubernetes-map-type")
		if kind := *s.XMapType; kind != "atomic" && kind != "granular" {
			p.list = append(p.list, field.NotSupported(path.Child("x-kubernetes-map-type"), kind, []string{"atomic", "granular"}))
		}
	}
	if s.XListType != nil {
		p.needsType(s, path, "array", "x-kubernetes-list-type")
		if kind := *s.XListType; kind != "atomic" && kind != "set" && kind != "map" {
			p.list = append(p.list, field.NotSupported(path.Child("x-kubernetes-list-type"), kind, []string{"atomic", "set", "map"}))
		}
		p.listType(s, path)
	}
	if listType := path.Child("x-kubernetes-list-type"); len(s.XListMapKeys) > 0 {
		if s.XListType == nil {
			p.required(listType, "must be map if x-kubernetes-list-map-keys is non-empty")
		} else if *s.XListType != "map" {
			p.invalid(listType, *s.XListType, "must be map if x-kubernetes-list-map-keys is non-empty")
		}
	}
	for i, rule := range s.XValidations {
		if strings.TrimSpace(rule.Rule) == "" {
			p.required(path.Child("x-kubernetes-validations").Index(i).Child("rule"), "rule is not specified")
		}
	}
}

func (p *problems) needsType(s *internal.JSONSchemaProps, path *field.Path, kind, extension string) {
	message := "must be " + kind + " if " + extension + " is specified"
	switch s.Type {
	case kind:
	case "":
		p.required(path.Child("type"), message)
	default:
		p.invalid(path.Child("type"), s.Type, message)
	}
}

// listType says what is wrong with a list that is a set or a map.
func (p *problems) listType(s *internal.JSONSchemaProps, path *field.Path) {
	kind := *s.XListType
	if kind != "set" && kind != "map" {
		return
	}
	items := path.Child("items")
	if kind == "map" && len(s.XListMapKeys) == 0 {
		p.required(path.Child("x-kubernetes-list-map-keys"), "must not be empty if x-kubernetes-list-type is map")
	}
	if s.Items == nil || s.Items.Schema == nil {
		if kind == "map" {
			p.required(items, "must have a schema if x-kubernetes-list-type is map")
		}
		return
	}
	item := s.Items.Schema
	if item.Nullable {
		p.forbidden(items.Child("nullable"), "cannot be nullable when x-kubernetes-list-type is "+kind)
	}
	if kind == "map" {
		p.mapKeys(s, item, path, items)
		return
	}
	const atomic = "must be atomic as item of a list with x-kubernetes-list-type=set"
	switch {
	case item.Type == "array" && item.XListType != nil && *item.XListType != "atomic":
		p.invalid(items.Child("x-kubernetes-list-type"), *item.XListType, atomic)
	case item.Type == "object" && (item.XMapType == nil || *item.XMapType != "atomic"):
		p.invalid(items.Child("x-kubernetes-map-type"), item.XListType, atomic)
	}
}

// mapKeys says what is wrong with the keys of a list that is a map.
// Upstream: also validateMapListKeysMapSet, v1.37.
func (p *problems) mapKeys(s, item *internal.JSONSchemaProps, path, items *field.Path) {
	if item.Type != "object" {
		p.invalid(items.Child("type"), item.Type, "must be object if parent array's x-kubernetes-list-type is map")
		return
	}
	keys := path.Child("x-kubernetes-list-map-keys")
	for i, key := range s.XListMapKeys {
		if slices.Contains(s.XListMapKeys[:i], key) {
			p.invalid(keys, s.XListMapKeys, "must not contain duplicate entries")
		}
		property, known := item.Properties[key]
		if !known {
			p.invalid(keys, s.XListMapKeys, "entries must all be names of item properties")
			continue
		}
		at := items.Child("properties").Key(key)
		if property.Type == "array" || property.Type == "object" {
			p.invalid(at.Child("type"), item.Type, "must be a scalar type if parent array's x-kubernetes-list-type is map")
		}
		if !slices.Contains(item.Required, key) && property.Default == nil {
			p.required(at.Child("default"), "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property")
		}
		if property.Nullable {
			p.forbidden(at.Child("nullable"), "this property is in x-kubernetes-list-map-keys, so it cannot be nullable")
		}
	}
}
