package crd

import (
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	openapi "k8s.io/kube-openapi/pkg/validation/validate"
)

// The work of checking one object against its schema: a comparison with one value of an enumeration
// counts once, a part of the object with a part of the schema partWork times, which is some
// microseconds. Upstream has no such limit: there only the client waits.
const (
	maxWork  = 5_000_000
	partWork = 10
	// patternWork is the number of steps of a pattern that count once.
	patternWork = 64
	// wordWork is the cost of naming one value of an enumeration in the error of a value that is not in it.
	wordWork = 10
)

// tooMuchWork returns an error if it would take too long to check a value against a schema, nil if not.
func tooMuchWork(value any, s *spec.Schema) field.ErrorList {
	m := meter{left: maxWork}
	if m.measure(value, s); m.left >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(nil, nil, fmt.Sprintf(
		"to check the object against its schema takes more than %d comparisons; it must have fewer values, or the schema fewer alternatives", maxWork))}
}

// meter counts work until none is left.
type meter struct{ left int }

func (m *meter) measure(value any, s *spec.Schema) {
	if s == nil || m.left < 0 {
		return
	}
	m.left -= partWork + len(s.Enum) + len(s.Required)
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(word any) bool { return reflect.DeepEqual(word, value) }) {
		m.left -= wordWork * len(s.Enum)
	}
	m.measureAll(value, s.AllOf, s.AnyOf, s.OneOf)
	m.measure(value, s.Not)
	switch value := value.(type) {
	case string:
		m.left -= len(value) * len(s.Pattern) / patternWork
	case []any:
		keys, _ := s.Extensions["x-kubernetes-list-map-keys"].([]any) // the fields that identify an item
		m.left -= len(value) * len(keys)
		for i := 0; i < len(value) && m.left >= 0 && s.Items != nil; i++ {
			m.measure(value[i], s.Items.Schema)
		}
	case map[string]any:
		m.left -= len(s.Properties)
		m.measureObject(value, s)
	}
}

func (m *meter) measureAll(value any, lists ...[]spec.Schema) {
	for _, list := range lists {
		for i := 0; i < len(list) && m.left >= 0; i++ {
			m.measure(value, &list[i])
		}
	}
}

func (m *meter) measureObject(value map[string]any, s *spec.Schema) {
	for name, item := range value {
		if property, known := s.Properties[name]; known {
			m.measure(item, &property)
		} else if s.AdditionalProperties != nil {
			m.measure(item, s.AdditionalProperties.Schema)
		}
	}
}

// maxErrors is the number of errors after which no more are looked for: the library compares each with
// all others.
const maxErrors = 2000

// check returns the errors of a value. If there are too many, the last one says so.
func check(path *field.Path, value any, s *spec.Schema) field.ErrorList {
	c := &counter{left: maxErrors}
	errs := fieldErrors(path, openapi.NewSchemaValidator(s, nil, "", strfmt.Default, c.count).Validate(value))
	if c.left > 0 {
		return errs
	}
	return append(errs, field.Invalid(path, nil, fmt.Sprintf("more errors than %d; the others were not looked for", maxErrors)))
}

// counter counts the errors of a value's parts until none is left.
type counter struct{ left int }

// count sets the options of a validator: each part of a value is validated by a counted.
func (c *counter) count(options *openapi.SchemaValidatorOptions) {
	options.NewValidatorForIndex = func(_ int, s *spec.Schema, root any, path string, formats strfmt.Registry, _ ...openapi.Option) openapi.ValueValidator {
		return &counted{openapi.NewSchemaValidator(s, root, path, formats, c.count), c}
	}
	options.NewValidatorForField = func(_ string, s *spec.Schema, root any, path string, formats strfmt.Registry, _ ...openapi.Option) openapi.ValueValidator {
		return &counted{openapi.NewSchemaValidator(s, root, path, formats, c.count), c}
	}
}

// counted validates one part.
type counted struct {
	*openapi.SchemaValidator
	counter *counter
}

// Validate finds no errors if there were too many before.
func (v *counted) Validate(value any) *openapi.Result {
	before := v.counter.left
	if before <= 0 {
		return new(openapi.Result)
	}
	result := v.SchemaValidator.Validate(value)
	below := before - v.counter.left
	v.counter.left -= max(0, len(result.Errors)-below)
	return result
}
