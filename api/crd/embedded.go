package crd

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
)

// eachEmbedded calls f for each object in x that its schema calls an embedded resource. The
// root does not count.
func eachEmbedded(path *field.Path, x any, s *structural.Structural, root bool, f func(path *field.Path, obj map[string]any)) {
	if s == nil {
		return
	}
	switch x := x.(type) {
	case map[string]any:
		if s.XEmbeddedResource && !root {
			f(path, x)
		}
		for _, name := range slices.Sorted(maps.Keys(x)) {
			if property, known := s.Properties[name]; known {
				eachEmbedded(path.Child(name), x[name], &property, false, f)
			} else if more := additional(s); more != nil {
				eachEmbedded(path.Key(name), x[name], more, false, f)
			}
		}
	case []any:
		for i := range x {
			eachEmbedded(path.Index(i), x[i], s.Items, false, f)
		}
	}
}

// coerceEmbedded drops what is no metadata from the metadata of embedded objects.
// Upstream: schema/objectmeta Coerce, v1.37.
func coerceEmbedded(obj map[string]any, s *structural.Structural, root bool) {
	eachEmbedded(nil, obj, s, root, func(_ *field.Path, one map[string]any) {
		m, err := objectMeta(one)
		if err != nil || one["metadata"] == nil {
			return // validation says so
		}
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(m)
		if err != nil {
			return
		}
		if m.CreationTimestamp.IsZero() {
			delete(fields, "creationTimestamp")
		}
		one["metadata"] = fields
	})
}

// objectMeta reads the metadata of an object.
func objectMeta(obj map[string]any) (*metav1.ObjectMeta, error) {
	m := &metav1.ObjectMeta{}
	text, err := json.Marshal(obj["metadata"])
	if err == nil {
		err = json.Unmarshal(text, m)
	}
	return m, err
}

// unknownMeta returns the paths of what is no metadata in the metadata of an object.
// Upstream: schema/objectmeta GetObjectMetaWithOptions, v1.37.
func unknownMeta(path *field.Path, obj map[string]any) (paths []string) {
	text, err := json.Marshal(obj["metadata"])
	if err != nil {
		return nil // it was JSON before
	}
	unknown, err := kjson.UnmarshalStrict(text, &metav1.ObjectMeta{})
	if err != nil {
		return nil // validation says so
	}
	for _, one := range unknown {
		var at kjson.FieldError
		if errors.As(one, &at) {
			paths = append(paths, path.Child("metadata").String()+"."+at.FieldPath())
		}
	}
	return paths
}

// validateEmbedded says what is wrong with the kinds and metadata of embedded objects.
// Upstream: schema/objectmeta Validate, v1.37.
func validateEmbedded(path *field.Path, obj map[string]any, s *structural.Structural, root bool) (errs field.ErrorList) {
	eachEmbedded(path, obj, s, root, func(at *field.Path, one map[string]any) {
		errs = append(errs, validateTypeMeta(at, one)...)
		given, there := one["metadata"]
		if !there {
			return
		}
		m, err := objectMeta(one)
		if err != nil {
			errs = append(errs, field.Invalid(at.Child("metadata"), given, err.Error()))
			return
		}
		if m.Name == "" {
			m.Name = "fakename" // it need not have one
		}
		errs = append(errs, apivalidation.ValidateObjectMeta(m, m.Namespace != "", func(name string, prefix bool) []string {
			if prefix {
				return content.IsPathSegmentPrefix(name)
			}
			return content.IsPathSegmentName(name)
		}, at.Child("metadata"))...)
	})
	return errs
}

func validateTypeMeta(at *field.Path, obj map[string]any) (errs field.ErrorList) {
	for _, name := range []string{"apiVersion", "kind"} {
		value, there := obj[name]
		text, isText := value.(string)
		path := at.Child(name)
		switch {
		case !there:
			errs = append(errs, field.Required(path, ""))
		case !isText:
			errs = append(errs, field.Invalid(path, value, "must be a string"))
		case text == "":
			errs = append(errs, field.Invalid(path, text, "must not be empty"))
		case name == "apiVersion":
			if _, err := runtimeschema.ParseGroupVersion(text); err != nil {
				errs = append(errs, field.Invalid(path, text, err.Error()))
			}
		default:
			errs = append(errs, kindName(path, text)...)
		}
	}
	return errs
}

// kindName says what is wrong with the name of a kind.
func kindName(path *field.Path, kind string) field.ErrorList {
	if msgs := utilvalidation.IsDNS1035Label(strings.ToLower(kind)); len(msgs) > 0 {
		return field.ErrorList{field.Invalid(path, kind, "may have mixed case, but should otherwise match: "+strings.Join(msgs, ","))}
	}
	return nil
}
