package tables

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"sort"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/util/jsonpath"
)

// relaxed are the ways to write the path of a field.
//
// Upstream: kubectl pkg/cmd/get/customcolumn.go jsonRegexp, v0.37.2.
var relaxed = regexp.MustCompile(`^\{\.?([^{}]+)\}$|^\.?([^{}]+)$`)

// RelaxedPath returns a path such as spec.priority as a template: {.spec.priority}.
//
// Upstream: kubectl pkg/cmd/get/customcolumn.go RelaxedJSONPathExpression, v0.37.2.
func RelaxedPath(field string) (string, error) {
	parts := relaxed.FindStringSubmatch(field)
	if parts == nil {
		return field, errors.New("unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'")
	}
	return "{." + parts[1] + parts[2] + "}", nil
}

// sortBy sorts objects by the values that they have at a template's path. Those without a value come first.
//
// Upstream: kubectl pkg/cmd/get/sorter.go NewTableSorter and SortObjects, v0.37.2.
func sortBy(path string, objects []object) error {
	if len(objects) == 0 {
		return nil
	}
	template := jsonpath.New("sorting").AllowMissingKeys(true)
	if err := template.Parse(path); err != nil {
		return fmt.Errorf("sorting error: %w", err)
	}
	s := byValue{objects: objects, values: make([][]reflect.Value, len(objects))}
	found := false
	for i, obj := range objects {
		fields, err := clean(obj)
		if err != nil {
			return err
		}
		results, err := template.FindResults(fields)
		if err != nil {
			return err
		}
		if len(results) > 0 {
			s.values[i] = results[0]
		}
		found = found || len(s.values[i]) > 0
	}
	if !found {
		return notFound(path)
	}
	sort.Sort(&s) // which has the order of upstream also where values are the same or missing
	if s.err != nil {
		return fmt.Errorf("field %s: %w", path, s.err)
	}
	return nil
}

func notFound(path string) error {
	return fmt.Errorf("couldn't find any field with path %q in the list of objects", path)
}

// byValue sorts objects by the first of their values.
type byValue struct {
	objects []object
	values  [][]reflect.Value
	err     error
}

func (s *byValue) Len() int { return len(s.objects) }

func (s *byValue) Swap(i, j int) {
	s.objects[i], s.objects[j] = s.objects[j], s.objects[i]
	s.values[i], s.values[j] = s.values[j], s.values[i]
}

// Less reports whether the i-th object comes before the j-th, as upstream's does: where both have no value, each comes before the other.
func (s *byValue) Less(i, j int) bool {
	switch {
	case len(s.values[i]) == 0:
		return true
	case len(s.values[j]) == 0:
		return false
	}
	less, err := isLess(s.values[i][0].Interface(), s.values[j][0].Interface())
	if err != nil && s.err == nil {
		s.err = err
	}
	return less
}

// isLess compares two values of JSON. Texts that are quantities are compared as such.
//
// Upstream: kubectl pkg/cmd/get/sorter.go isLess, v0.37.2.
func isLess(a, b any) (bool, error) {
	if a == nil || b == nil {
		return a == nil && b != nil, nil
	}
	switch x := a.(type) {
	case string:
		y, ok := b.(string)
		if !ok {
			break
		}
		if p, q, both := quantities(x, y); both {
			return p.Cmp(q) < 0, nil
		}
		return x < y, nil
	case float64:
		if y, ok := b.(float64); ok {
			return x < y, nil
		}
	default:
		return false, fmt.Errorf("unsortable type: %T", a)
	}
	return false, fmt.Errorf("unsortable types: %T and %T", a, b)
}

// quantities reads two texts; both is false if one of them is no quantity.
func quantities(x, y string) (p, q resource.Quantity, both bool) {
	p, err := resource.ParseQuantity(x)
	if err == nil {
		q, err = resource.ParseQuantity(y)
	}
	return p, q, err == nil
}
