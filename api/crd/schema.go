package crd

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	internal "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// shape holds the schema of a version in the forms in which it is used. It never changes.
type shape struct {
	structural *structural.Structural
	openapi    *spec.Schema
	status     *spec.Schema // nil if nothing is said of the status
	scale      *apiextensions.CustomResourceSubresourceScale
	validator  Validator // nil if there are none
	preserve   bool      // spec.preserveUnknownFields: nothing is pruned
}

// compile makes a version's schema ready.
func compile(def *apiextensions.CustomResourceDefinition, v *apiextensions.CustomResourceDefinitionVersion) (*shape, error) {
	s := &shape{structural: &structural.Structural{}, openapi: &spec.Schema{}, preserve: def.Spec.PreserveUnknownFields}
	if v.Subresources != nil {
		s.scale = v.Subresources.Scale
	}
	if v.Schema != nil && v.Schema.OpenAPIV3Schema != nil {
		var in internal.JSONSchemaProps
		if err := apiextensions.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, &in, nil); err != nil {
			return nil, err
		}
		var err error
		if s.structural, err = structural.NewStructural(&in); err != nil {
			return nil, err
		}
		if s.openapi, err = openAPI(v.Schema.OpenAPIV3Schema); err != nil {
			return nil, err
		}
	}
	s.validator = compileRules(s.structural)
	if status, ok := s.openapi.Properties["status"]; ok {
		s.status = &status
	}
	return s, nil
}

// openAPI returns a schema in the form of the library that validates: both have the same JSON.
// Upstream: apiserver/validation ConvertJSONSchemaPropsWithPostProcess, v1.37.
func openAPI(props *apiextensions.JSONSchemaProps) (*spec.Schema, error) {
	text, err := json.Marshal(props)
	if err != nil {
		return nil, err
	}
	s := &spec.Schema{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, err
	}
	adjust(s)
	return s, nil
}

// adjust says in the words of OpenAPI what extensions say, and drops formats that are not
// checked.
func adjust(s *spec.Schema) {
	if is, ok := s.Extensions["x-kubernetes-int-or-string"].(bool); ok && is {
		s.Type = spec.StringOrArray{"integer", "string"}
	}
	kind := ""
	if len(s.Type) == 1 {
		kind = s.Type[0]
	}
	if !checksFormat(kind, s.Format) {
		s.Format = ""
	}
	for _, list := range [][]spec.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range list {
			adjust(&list[i])
		}
	}
	if s.Not != nil {
		adjust(s.Not)
	}
	for name, property := range s.Properties {
		adjust(&property)
		s.Properties[name] = property
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		adjust(s.AdditionalProperties.Schema)
	}
	if s.Items != nil && s.Items.Schema != nil {
		adjust(s.Items.Schema)
	}
}

// checksFormat reports whether a format is one that values of a type are held to.
// Upstream: apiserver/validation StripUnsupportedFormatsPostProcessorForVersion, v1.37.
func checksFormat(kind, format string) bool {
	switch kind {
	case "", "string":
		return slices.Contains(strings.Fields(formats), strings.ReplaceAll(format, "-", ""))
	case "integer":
		return format == "int32" || format == "int64"
	case "number":
		return format == "float" || format == "double"
	}
	return false
}

const formats = "bsonobjectid uri email hostname ipv4 ipv6 cidr mac uuid uuid3 uuid4 uuid5 isbn isbn10 isbn13 creditcard ssn " +
	"hexcolor rgbcolor byte password date duration datetime k8sshortname k8slongname"

// complete drops the fields that the schema does not have, and sets defaults.
// Upstream: apiserver unstructuredSchemaCoercer.apply, unstructuredDefaulter.Default, v1.37.
func (s *shape) complete(obj *unstructured.Unstructured) {
	s.prune(obj.Object)
	dropNulls(obj.Object, s.structural)
	setDefaults(obj.Object, s.structural)
}

func (s *shape) prune(obj map[string]any) {
	if s.preserve {
		return
	}
	pruning.Prune(obj, s.structural, true)
	coerceEmbedded(obj, s.structural, true)
}

// unknown returns the paths of the fields that prune would drop, and of unknown fields in metadata.
func (s *shape) unknown(obj runtime.Object) []string {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok || s.preserve {
		return nil
	}
	paths := unknownMeta(nil, u.Object)
	paths = append(paths, pruning.PruneWithOptions(u.DeepCopy().Object, s.structural, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
	eachEmbedded(nil, u.Object, s.structural, true, func(at *field.Path, one map[string]any) { paths = append(paths, unknownMeta(at, one)...) })
	return paths
}

// validate returns the errors of an object; old is its previous version, nil if it is new.
// Upstream: registry/customresource strategy.Validate and ValidateUpdate, v1.37.
func (s *shape) validate(obj, old map[string]any) field.ErrorList {
	if errs := append(tooMuchWork(obj, s.openapi), tooMuchWork(old, s.openapi)...); len(errs) > 0 {
		return errs[:1]
	}
	errs := check(nil, obj, s.openapi)
	if old != nil {
		errs = ratchet(errs, obj, old, s.structural)
	}
	errs = append(errs, s.validateScale(obj, true)...)
	errs = append(errs, validateEmbedded(nil, obj, s.structural, true)...)
	return append(errs, s.validateLists(obj, old)...)
}

// validateLists says what is wrong with lists of the types set and map, unless something was before.
func (s *shape) validateLists(obj, old map[string]any) field.ErrorList {
	if old != nil && len(listtype.ValidateListSetsAndMaps(nil, s.structural, old)) > 0 {
		return nil
	}
	return listtype.ValidateListSetsAndMaps(nil, s.structural, obj)
}

// validateStatus says what is wrong with the status of an object.
// Upstream: registry/customresource statusStrategy.ValidateUpdate, v1.37.2.
func (s *shape) validateStatus(obj, old map[string]any) (errs field.ErrorList) {
	if errs := append(tooMuchWork(obj, s.openapi), tooMuchWork(old, s.openapi)...); len(errs) > 0 {
		return errs[:1]
	}
	if status, ok := obj["status"]; ok && s.status != nil {
		errs = ratchet(check(field.NewPath("status"), status, s.status), obj, old, s.structural)
	}
	errs = append(errs, s.validateScale(obj, false)...)
	return append(errs, s.validateLists(obj, old)...)
}

// validateScale checks the counts of replicas that the subresource scale shows.
// Upstream: registry/customresource validator ValidateScaleSpec and ValidateScaleStatus, v1.37.
func (s *shape) validateScale(obj map[string]any, ofSpec bool) (errs field.ErrorList) {
	if s.scale == nil {
		return nil
	}
	paths := []string{s.scale.StatusReplicasPath}
	if ofSpec {
		paths = append([]string{s.scale.SpecReplicasPath}, paths...)
	}
	for _, path := range paths {
		n, _, err := unstructured.NestedInt64(obj, steps(path)...)
		switch {
		case err != nil:
			errs = append(errs, field.Invalid(field.NewPath(path), n, err.Error()))
		case n < 0:
			errs = append(errs, field.Invalid(field.NewPath(path), n, "should be a non-negative integer"))
		case n > math.MaxInt32:
			errs = append(errs, field.Invalid(field.NewPath(path), n, "should be less than or equal to 2147483647"))
		}
	}
	if path := s.scale.LabelSelectorPath; path != nil && *path != "" {
		if text, _, err := unstructured.NestedString(obj, steps(*path)...); err != nil {
			errs = append(errs, field.Invalid(field.NewPath(*path), text, err.Error()))
		}
	}
	return errs
}

// steps returns the fields that a simple JSON path leads through.
func steps(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }
