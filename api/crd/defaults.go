package crd

import (
	"maps"
	"slices"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime"
)

// maxDefaults is the number of bytes that the defaults of one object may take. It is more than an
// object may have, so that one with more of them is refused for its size.
const maxDefaults = 4 << 20

// setDefaults fills in the defaults of a schema where an object has nothing.
// Upstream: schema/defaulting Default, v1.37.
func setDefaults(x any, s *structural.Structural) {
	(&filler{left: maxDefaults, work: maxWork}).fill(x, s)
}

// filler fills in defaults until they take too many bytes, or too many properties were looked at: tooMuchWork refuses an object
// for which that is so.
type filler struct{ left, work int }

// copy returns a copy of a default, and false if there were too many.
func (f *filler) copy(value any) (any, bool) {
	if f.left -= lengthOf(value, f.left); f.left < 0 {
		return nil, false
	}
	return runtime.DeepCopyJSONValue(value), true
}

func (f *filler) fill(x any, s *structural.Structural) {
	if s == nil {
		return
	}
	switch x := x.(type) {
	case map[string]any:
		f.fillObject(x, s)
	case []any:
		for i := range x {
			if isNull(x[i], s.Items) {
				if value, ok := f.copy(s.Items.Default.Object); ok {
					x[i] = value
				}
			}
			f.fill(x[i], s.Items)
		}
	}
}

// fillObject sets the defaults of an object's missing properties, and those of the values in it.
func (f *filler) fillObject(x map[string]any, s *structural.Structural) {
	if f.work -= len(s.Properties); f.work < 0 || f.left < 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		if value, there := x[name]; property.Default.Object != nil && (!there || isNull(value, &property)) {
			if value, ok := f.copy(property.Default.Object); ok {
				x[name] = value
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(x)) {
		if property, known := s.Properties[name]; known {
			f.fill(x[name], &property)
		} else if more := additional(s); more != nil {
			if isNull(x[name], more) {
				if value, ok := f.copy(more.Default.Object); ok {
					x[name] = value
				}
			}
			f.fill(x[name], more)
		}
	}
}

// lengthOf returns about how many bytes a value has as JSON, and a number above most if it is more.
func lengthOf(value any, most int) int {
	n := 8
	switch value := value.(type) {
	case string:
		n += len(value)
	case []any:
		for _, item := range value {
			if n > most {
				return n
			}
			n += lengthOf(item, most-n)
		}
	case map[string]any:
		for name, item := range value {
			if n > most {
				return n
			}
			n += len(name) + lengthOf(item, most-n)
		}
	}
	return n
}

// dropNulls removes null where it is not allowed and there is no default for it.
// Upstream: schema/defaulting PruneNonNullableNullsWithoutDefaults, v1.37.
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
