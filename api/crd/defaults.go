package crd

import (
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime"
)

// setDefaults fills in the defaults of a schema where an object has nothing.
// Upstream: schema/defaulting Default, v1.36.
func setDefaults(x any, s *structural.Structural) {
	if s == nil {
		return
	}
	switch x := x.(type) {
	case map[string]any:
		for name, property := range s.Properties {
			if value, there := x[name]; property.Default.Object != nil && (!there || isNull(value, &property)) {
				x[name] = runtime.DeepCopyJSONValue(property.Default.Object)
			}
		}
		for name := range x {
			if property, known := s.Properties[name]; known {
				setDefaults(x[name], &property)
			} else if more := additional(s); more != nil {
				if isNull(x[name], more) {
					x[name] = runtime.DeepCopyJSONValue(more.Default.Object)
				}
				setDefaults(x[name], more)
			}
		}
	case []any:
		for i := range x {
			if isNull(x[i], s.Items) {
				x[i] = runtime.DeepCopyJSONValue(s.Items.Default.Object)
			}
			setDefaults(x[i], s.Items)
		}
	}
}

// dropNulls removes null where it is not allowed and there is no default for it.
// Upstream: schema/defaulting PruneNonNullableNullsWithoutDefaults, v1.36.
func dropNulls(x any, s *structural.Structural) {
	if s == nil {
		return
	}
	switch x := x.(type) {
	case map[string]any:
		for name, value := range x {
			of := additional(s)
			if property, known := s.Properties[name]; known {
				of = &property
			}
			if isNull(value, of) {
				if of.Default.Object == nil {
					delete(x, name)
				}
				continue
			}
			dropNulls(value, of)
		}
	case []any:
		for i := range x {
			dropNulls(x[i], s.Items)
		}
	}
}

// isNull: the value is null, which its schema does not allow.
func isNull(value any, s *structural.Structural) bool {
	return value == nil && s != nil && !s.Nullable
}

// additional returns the schema of the values of a map, nil if there is none.
func additional(s *structural.Structural) *structural.Structural {
	if s.AdditionalProperties == nil {
		return nil
	}
	return s.AdditionalProperties.Structural
}
