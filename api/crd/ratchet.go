package crd

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ratchet takes away the errors of a schema about values that an update does not change, or that are part of such a value: they are
// no worse than they were.
// Upstream: apiserver/validation ratchetingValueValidator.Validate, v1.37.2.
func ratchet(errs field.ErrorList, obj, old map[string]any, s *structural.Structural) field.ErrorList {
	c := correlation{same: map[string]bool{}, items: map[string]map[string]any{}}
	return slices.DeleteFunc(errs, func(err *field.Error) bool { return c.unchanged(err.Field, obj, old, s) })
}

// correlation finds for each value of an object the one that it replaces: that of the same field, or of the item with the same keys in a
// list of the type map. The items of other lists replace none.
// Upstream: apiserver cel/common CorrelatedObject, v0.37.2.
type correlation struct {
	same  map[string]bool           // by the path of a value: it is equal to the one that it replaces
	items map[string]map[string]any // by the path of a list of the type map: the items that are replaced, by their keys
}

// unchanged reports whether the value at a path, or one on the way there, is equal to the one that it replaces. A value that is missing
// is an error of the value that misses it.
func (c *correlation) unchanged(path string, value, was any, s *structural.Structural) bool {
	for at := ""; value != nil && was != nil && s != nil; {
		if c.equal(at, value, was) {
			return true
		}
		rest := path[len(at):]
		switch v := value.(type) {
		case map[string]any:
			name := firstName(v, rest)
			before, _ := was.(map[string]any)
			if name == "" || before == nil {
				return false
			}
			at = path[:len(path)-len(strings.TrimPrefix(rest, "."))+len(name)]
			value, was, s = v[name], before[name], schemaOf(s, name)
		case []any:
			text, _, closed := strings.Cut(strings.TrimPrefix(rest, "["), "]")
			i, err := strconv.Atoi(text)
			before, _ := was.([]any)
			if !closed || err != nil || i < 0 || i >= len(v) || s.XListType == nil || *s.XListType != "map" {
				return false
			}
			was = c.replaced(at, before, s.XListMapKeys)[keysOf(v[i], s.XListMapKeys)]
			at, value, s = path[:len(at)+len(text)+len("[]")], v[i], s.Items
		default:
			return false
		}
	}
	return false
}

func (c *correlation) equal(at string, value, was any) bool {
	same, known := c.same[at]
	if !known {
		same = reflect.DeepEqual(value, was)
		c.same[at] = same
	}
	return same
}

// replaced returns the items of the list that the one at a path replaces, by their keys.
func (c *correlation) replaced(at string, list []any, keys []string) map[string]any {
	items, known := c.items[at]
	if known {
		return items
	}
	items = make(map[string]any, len(list))
	for _, item := range list {
		items[keysOf(item, keys)] = item
	}
	c.items[at] = items
	return items
}

// keysOf returns what tells an item of a list of the type map from the others.
func keysOf(item any, keys []string) string {
	fields, _ := item.(map[string]any)
	var b strings.Builder
	for _, key := range keys {
		fmt.Fprintf(&b, "%T %#v\n", fields[key], fields[key])
	}
	return b.String()
}

// firstName returns the field of an object that a path begins with, the longest if there are several, and "" if there is none: a name
// may have dots in it.
func firstName(fields map[string]any, path string) string {
	path = strings.TrimPrefix(path, ".")
	for end := len(path); end > 0; end = strings.LastIndexAny(path[:end], ".[") {
		if _, ok := fields[path[:end]]; ok {
			return path[:end]
		}
	}
	return ""
}

// schemaOf returns the schema of a field, nil if there is none.
func schemaOf(s *structural.Structural, name string) *structural.Structural {
	if property, ok := s.Properties[name]; ok {
		return &property
	}
	return additional(s)
}
