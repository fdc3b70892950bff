package crd

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	internal "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Evaluator evaluates rules in the language CEL. Package api/crd/cel is one.
type Evaluator interface {
	// Check returns the errors in the rules of a definition; old is its previous version, nil if
	// it is new.
	Check(def, old *internal.CustomResourceDefinition) field.ErrorList
	// Compile makes the rules of a schema ready, nil if it has none.
	Compile(s *structural.Structural) Validator
}

// Validator evaluates the rules of a schema, and returns the errors of an object; old is its previous version, nil if it is new.
type Validator func(obj, old map[string]any) field.ErrorList

// evaluating is the evaluator of all servers, nil if there is none.
var evaluating atomic.Pointer[Evaluator]

// UseEvaluator has all servers evaluate the rules of the definitions that they get from then
// on. A program calls it by importing package api/crd/cel.
func UseEvaluator(e Evaluator) { evaluating.Store(&e) }

// compileRules makes the rules of a schema ready, nil if it has none or nothing evaluates
// them.
func compileRules(s *structural.Structural) Validator {
	if e := evaluating.Load(); e != nil {
		return (*e).Compile(s)
	}
	return nil
}

// checkRules returns the errors of Evaluator.Check without those that are known already.
func checkRules(def, old *internal.CustomResourceDefinition, known field.ErrorList) (errs field.ErrorList) {
	e := evaluating.Load()
	if e == nil {
		return nil
	}
	said := map[string]bool{}
	for _, err := range known {
		said[err.Error()] = true
	}
	for _, err := range (*e).Check(def, old) {
		if !said[err.Error()] {
			errs = append(errs, err)
		}
	}
	return errs
}

// validateRules evaluates the rules of a schema, unless the object or its metadata are too wrong for that.
// Upstream: registry/customresource hasBlockingErr, v1.37.
func (s *shape) validateRules(errs field.ErrorList, obj, old map[string]any) field.ErrorList {
	if s.validator == nil || len(tooMuchWork(obj, s.openapi)) > 0 || len(tooMuchWork(old, s.openapi)) > 0 {
		return nil
	}
	for _, err := range errs {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return field.ErrorList{field.Invalid(nil, nil, "some validation rules were not checked because the object was invalid; "+
				"correct the existing errors to complete validation")}
		}
	}
	return s.validator(obj, old)
}

// RulesMessage is the warning that a client gets whose definition has rules in the language
// CEL (x-kubernetes-validations).
const RulesMessage = "x-kubernetes-validations are stored and not evaluated by this server"

// WebhookMessage is the warning for a definition with the conversion strategy Webhook.
const WebhookMessage = "conversion webhooks are not called by this server: objects are converted by their apiVersion only"

// warningsOf returns what a client should know of a definition that it writes: that it asks for
// something which this server does not do.
// old is its previous version, nil if it is new.
func warningsOf(def *apiextensions.CustomResourceDefinition, old runtime.Object) (list []string) {
	was, _ := old.(*apiextensions.CustomResourceDefinition)
	list = newOnes(def, was, unknownFormats, func(format string) string { return fmt.Sprintf("unrecognized format %q", format) })
	list = append(list, newOnes(def, was, setsOfMore, func(kind string) string {
		return fmt.Sprintf("x-kubernetes-list-type: set for items of type %q is not supported by server-side apply or CEL validation rules", kind)
	})...)
	for _, v := range def.Spec.Versions {
		if evaluating.Load() == nil && v.Schema != nil && ruled(v.Schema.OpenAPIV3Schema) {
			list = append(list, RulesMessage)
			break
		}
	}
	if c := def.Spec.Conversion; c != nil && c.Strategy == apiextensions.WebhookConverter {
		list = append(list, WebhookMessage)
	}
	return list
}

// newOnes returns the texts of what a rule finds in the schemas of a definition, and did not find in its previous version.
// Upstream: registry/customresourcedefinition strategy.WarningsOnCreate and WarningsOnUpdate, v1.37.2.
func newOnes(def, old *apiextensions.CustomResourceDefinition, find func(s *apiextensions.JSONSchemaProps) string,
	text func(found string) string) (texts []string) {
	for _, found := range foundIn(def, find) {
		if old == nil || !slices.Contains(foundIn(old, find), found) {
			texts = append(texts, text(found))
		}
	}
	return texts
}

// foundIn returns what a rule finds in the schemas of a definition, in order.
func foundIn(def *apiextensions.CustomResourceDefinition, find func(s *apiextensions.JSONSchemaProps) string) (list []string) {
	for _, v := range def.Spec.Versions {
		if v.Schema != nil {
			eachPart(v.Schema.OpenAPIV3Schema, func(s *apiextensions.JSONSchemaProps) {
				if found := find(s); found != "" {
					list = append(list, found)
				}
			})
		}
	}
	return list
}

// unknownFormats returns the format of a part if values are not held to it.
// Upstream: apiserver/validation GetUnrecognizedFormats, v1.37.2.
func unknownFormats(s *apiextensions.JSONSchemaProps) string {
	if s.Format == "" || checksFormat(s.Type, s.Format) {
		return ""
	}
	return s.Format
}

// setsOfMore returns the type of the items of a set if these are no scalars.
// Upstream: registry/customresourcedefinition getNonScalarListTypeSetWarnings, v1.37.2.
func setsOfMore(s *apiextensions.JSONSchemaProps) string {
	if s.XListType == nil || *s.XListType != "set" || s.Items == nil || s.Items.Schema == nil {
		return ""
	}
	if kind := s.Items.Schema.Type; kind == "object" || kind == "array" {
		return kind
	}
	return ""
}

// eachPart calls do for each part of a schema, in order.
// Upstream: apis/apiextensions/validation SchemaHas, v1.37.2.
func eachPart(s *apiextensions.JSONSchemaProps, do func(s *apiextensions.JSONSchemaProps)) {
	if s == nil {
		return
	}
	do(s)
	if s.Items != nil {
		eachPart(s.Items.Schema, do)
	}
	for _, list := range [][]apiextensions.JSONSchemaProps{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range list {
			eachPart(&list[i], do)
		}
	}
	eachPart(s.Not, do)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		eachPart(&property, do)
	}
	if s.AdditionalProperties != nil {
		eachPart(s.AdditionalProperties.Schema, do)
	}
}

// ruled reports whether a schema has rules.
func ruled(s *apiextensions.JSONSchemaProps) (has bool) {
	eachPart(s, func(s *apiextensions.JSONSchemaProps) { has = has || len(s.XValidations) > 0 })
	return has
}
