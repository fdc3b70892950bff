package crd

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	internal "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/runtime"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	openapi "k8s.io/kube-openapi/pkg/validation/validate"
)

// defaults says what is wrong with the defaults in a schema: each must be what the schema
// asks for, and have no field that it does not have.
// Upstream: schema/defaulting ValidateDefaults, v1.37.
func (p *problems) defaults(s, root *structural.Structural, path *field.Path) {
	if s == nil {
		return
	}
	if value := s.Default.Object; value != nil {
		pruned := runtime.DeepCopyJSONValue(value)
		pruning.Prune(pruned, s, s.XEmbeddedResource)
		of := s.ToKubeOpenAPI()
		adjust(of)
		switch errs := fieldErrors(path.Child("default"), openapi.NewSchemaValidator(of, nil, "", strfmt.Default).Validate(value)); {
		case !reflect.DeepEqual(pruned, value):
			p.invalid(path.Child("default"), value, "must not have unknown fields")
		default:
			p.list = append(p.list, errs...)
		}
	}
	p.defaults(additional(s), root, path.Child("additionalProperties"))
	p.defaults(s.Items, root, path.Child("items"))
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		p.defaults(&property, root, path.Child("properties").Key(name))
	}
}

// Upstream: ValidateCustomResourceDefinitionSubresources, v1.37.
func (p *problems) subresources(s *internal.CustomResourceSubresources, path *field.Path) {
	if s == nil || s.Scale == nil {
		return
	}
	p.replicas(s.Scale.SpecReplicasPath, ".spec.", path.Child("scale.specReplicasPath"))
	p.replicas(s.Scale.StatusReplicasPath, ".status.", path.Child("scale.statusReplicasPath"))
	if selector := s.Scale.LabelSelectorPath; selector != nil && *selector != "" {
		at := path.Child("scale.labelSelectorPath")
		if p.jsonPath(*selector, at) && !strings.HasPrefix(*selector, ".spec.") && !strings.HasPrefix(*selector, ".status.") {
			p.invalid(at, *selector, "should be a json path under either .spec or .status")
		}
	}
}

func (p *problems) replicas(value, below string, path *field.Path) {
	if value == "" {
		p.required(path, "")
		return
	}
	if p.jsonPath(value, path) && !strings.HasPrefix(value, below) {
		p.invalid(path, value, "should be a json path under "+strings.TrimSuffix(below, "."))
	}
}

// jsonPath requires a simple path, and says whether it is one.
func (p *problems) jsonPath(value string, path *field.Path) bool {
	if strings.HasPrefix(value, ".") {
		return true
	}
	p.invalid(path, value, "must be a simple json path starting with .")
	return false
}

// Upstream: ValidateCustomResourceColumnDefinition, v1.37.
func (p *problems) column(c *internal.CustomResourceColumnDefinition, path *field.Path) {
	if c.Name == "" {
		p.required(path.Child("name"), "")
	}
	types := []string{"boolean", "date", "integer", "number", "string"}
	if message := "must be one of " + strings.Join(types, ","); c.Type == "" {
		p.required(path.Child("type"), message)
	} else if !slices.Contains(types, c.Type) {
		p.invalid(path.Child("type"), c.Type, message)
	}
	forms := []string{"byte", "date", "date-time", "double", "float", "int32", "int64", "password"}
	if c.Format != "" && !slices.Contains(forms, c.Format) {
		p.invalid(path.Child("format"), c.Format, "must be one of "+strings.Join(forms, ","))
	}
	if at := path.Child("JSONPath"); c.JSONPath == "" {
		p.required(at, "")
	} else {
		p.jsonPath(c.JSONPath, at)
	}
}

// maxSelectable is the number of selectable fields a version may have.
const maxSelectable = 8

// Upstream: ValidateCustomResourceSelectableFields, v1.37.
func (p *problems) selectable(list []internal.SelectableField, v *internal.CustomResourceValidation, path *field.Path) {
	if len(list) == 0 {
		return
	}
	if v == nil || v.OpenAPIV3Schema == nil {
		p.invalid(path, "", "may only be set when a schema is included")
		return
	}
	seen := map[string]bool{}
	for i, f := range list {
		at := path.Index(i).Child("jsonPath")
		if f.JSONPath == "" {
			p.required(at, "")
			continue
		}
		found, err := lookUp(v.OpenAPIV3Schema, f.JSONPath)
		if err != nil {
			p.invalid(at, f.JSONPath, fmt.Sprintf("is an invalid path: %v", err))
			continue
		}
		if steps(f.JSONPath)[0] == "metadata" {
			p.invalid(at, f.JSONPath, "must not point to fields in metadata")
		}
		if found.Type != "string" && found.Type != "boolean" && found.Type != "integer" {
			p.invalid(at, f.JSONPath, "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.")
		}
		if seen[f.JSONPath] {
			p.list = append(p.list, field.Duplicate(at, f.JSONPath))
		}
		seen[f.JSONPath] = true
	}
	if len(seen) > maxSelectable {
		p.list = append(p.list, field.TooMany(path, len(seen), maxSelectable))
	}
}

// lookUp returns the part of a schema that a simple path leads to.
func lookUp(s *internal.JSONSchemaProps, path string) (*internal.JSONSchemaProps, error) {
	if !strings.HasPrefix(path, ".") {
		first, _, _ := strings.Cut(path, ".")
		return nil, fmt.Errorf("expected [ or . but got: %s", first)
	}
	for _, name := range steps(path) {
		property, ok := s.Properties[name]
		if !ok {
			return nil, errNoField
		}
		s = &property
	}
	return s, nil
}

// errNoField: a path leads to nothing. It is upstream's text.
var errNoField = errors.New("does not refer to a valid field")

// Upstream: validateCustomResourceConversion, v1.37.
func (p *problems) conversion(c *internal.CustomResourceConversion, path *field.Path) {
	if c == nil {
		return
	}
	p.oneOf(path.Child("strategy"), string(c.Strategy), string(internal.NoneConverter), string(internal.WebhookConverter))
	hook, versions := path.Child("webhookClientConfig"), path.Child("conversionReviewVersions")
	if c.Strategy != internal.WebhookConverter {
		if c.WebhookClientConfig != nil {
			p.forbidden(hook, "should not be set when strategy is not set to Webhook")
		}
		if len(c.ConversionReviewVersions) > 0 {
			p.forbidden(versions, "should not be set when strategy is not set to Webhook")
		}
		return
	}
	if c.WebhookClientConfig == nil {
		p.required(hook, "required when strategy is set to Webhook")
	} else if (c.WebhookClientConfig.URL == nil) == (c.WebhookClientConfig.Service == nil) {
		p.required(hook, "exactly one of url or service is required")
	}
	if len(c.ConversionReviewVersions) == 0 {
		p.required(versions, "")
	}
	for i, v := range c.ConversionReviewVersions {
		if msgs := utilvalidation.IsDNS1035Label(v); len(msgs) > 0 {
			p.invalid(versions.Index(i), v, strings.Join(msgs, ","))
		}
	}
}
