package crd

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	openapi "k8s.io/kube-openapi/pkg/validation/validate"
)

// fieldErrors returns the findings of the library that validates in the words of the API, in
// order of the fields.
// Upstream: apiserver/validation kubeOpenAPIResultToFieldErrors, v1.37.
func fieldErrors(path *field.Path, result *openapi.Result) field.ErrorList {
	below := func(name string) *field.Path {
		if name = strings.TrimPrefix(name, "."); name == "" {
			return path
		}
		return path.Child(name)
	}
	type finding struct {
		at  string // the field that it is about
		err *field.Error
	}
	var list []finding
	for _, err := range result.Errors {
		var found *openapierrors.Validation
		if !errors.As(err, &found) { // of a format: only its text names the field
			about := err.Error()[strings.LastIndexByte(err.Error(), ' ')+1:]
			list = append(list, finding{below(about).String(), field.Invalid(path, "", err.Error())})
			continue
		}
		at := below(found.Name)
		list = append(list, finding{at.String(), fieldError(at, found)})
	}
	slices.SortStableFunc(list, func(a, b finding) int { return strings.Compare(a.at, b.at) })
	var errs field.ErrorList
	for _, one := range list {
		errs = append(errs, one.err)
	}
	return errs
}

func fieldError(at *field.Path, err *openapierrors.Validation) *field.Error {
	value := any("")
	if err.Value != nil {
		value = err.Value
	}
	switch err.Code() {
	case openapierrors.RequiredFailCode:
		return field.Required(at, "")
	case openapierrors.EnumFailCode:
		return field.NotSupported(at, err.Value, texts(err.Values))
	case openapierrors.TooLongFailCode:
		return field.TooLong(at, "", limit(err.Valid))
	case openapierrors.MaxItemsFailCode, openapierrors.TooManyPropertiesCode:
		return field.TooMany(at, limit(err.Value), limit(err.Valid))
	case openapierrors.InvalidTypeCode:
		return field.TypeInvalid(at, value, err.Error())
	}
	return field.Invalid(at, value, err.Error())
}

// limit returns a number of the library's findings.
func limit(n any) int {
	if n, ok := n.(int64); ok {
		return int(n)
	}
	return -1
}

// maxWords is the number of bytes of an enumeration that an error names.
const maxWords = 64 << 10

// texts returns the values of an enumeration, as far as an error names them.
func texts(values []any) []string {
	list, left := []string{}, maxWords
	for i, value := range values {
		if left < 0 {
			return append(list, fmt.Sprintf("... %d more values", len(values)-i))
		}
		if text, ok := value.(string); ok {
			list = append(list, text)
			left -= len(text)
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			continue
		}
		list = append(list, string(text))
		left -= len(text)
	}
	return list
}
