package manifest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/internal/prose"
)

// checker checks one object against the Go type of its kind. It notes every
// problem and gives back the value as encoding/json would have it.
type checker struct {
	*parser
	object string
	secret bool // no message may quote a value
	wide   bool // a key begins with a full-width space
}

func (c *checker) fail(n *yaml.Node, path, format string, args ...any) any {
	c.problem(n.Line, c.object, path, format, args...)
	return nil
}

func typeOf(obj runtime.Object) reflect.Type { return reflect.TypeOf(obj).Elem() }

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// check checks the value at path against its type.
func (c *checker) check(n *yaml.Node, t reflect.Type, path string) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if isNull(n) {
		return nil // as if the field were not there
	}
	if scalar, ok := scalars[t]; ok {
		return c.scalar(n, path, scalar)
	}
	switch {
	case reflect.PointerTo(t).Implements(unmarshaler) || t.Kind() == reflect.Interface:
		return c.free(n, path)
	case t.Kind() == reflect.Struct:
		return c.structure(n, t, path)
	case t.Kind() == reflect.Map:
		return c.mapping(n, t, path)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return c.scalar(n, path, base64Bytes)
	case t.Kind() == reflect.Slice:
		return c.list(n, t, path)
	}
	return c.scalar(n, path, scalarOf(t))
}

func (c *checker) structure(n *yaml.Node, t reflect.Type, path string) any {
	if n.Kind != yaml.MappingNode {
		names := fieldNames(t)
		return c.fail(n, path, "%s; expected a mapping with fields such as %s", c.describe(n), strings.Join(names[:min(len(names), 4)], ", "))
	}
	out := map[string]any{}
	c.fields(n, path, func(key *yaml.Node, field string, value *yaml.Node) {
		fieldType, ok := fieldOf(t, key.Value)
		if !ok {
			c.fail(key, field, "unknown field%s", c.whereItBelongs(t, path, key.Value))
			return
		}
		out[key.Value] = c.check(value, fieldType, field)
	})
	return out
}

// whereItBelongs says that a field at the top of an object is one of its metadata or spec,
// as when the indentation was lost, or else suggests the nearest field.
func (c *checker) whereItBelongs(t reflect.Type, path, name string) string {
	for _, parent := range []string{"metadata", "spec"} {
		parentType, ok := fieldOf(t, parent)
		if path != "" || !ok || deref(parentType).Kind() != reflect.Struct {
			continue
		}
		if _, ok := fieldOf(deref(parentType), name); ok {
			return fmt.Sprintf("; it belongs below %s, so indent it", parent)
		}
	}
	return prose.DidYouMean(name, fieldNames(t))
}

func (c *checker) mapping(n *yaml.Node, t reflect.Type, path string) any {
	if n.Kind != yaml.MappingNode {
		return c.fail(n, path, "%s; expected a mapping from names to %s", c.describe(n), nameOf(t.Elem()))
	}
	out := map[string]any{}
	c.fields(n, path, func(key *yaml.Node, field string, value *yaml.Node) {
		if isNull(value) && t.Elem().Kind() == reflect.Interface {
			out[key.Value] = nil
			return
		}
		if isNull(value) {
			c.fail(value, field, "is empty; expected %s (for the empty text write \"\")", nameOf(t.Elem()))
			return
		}
		out[key.Value] = c.check(value, t.Elem(), field)
	})
	return out
}

// fields walks a mapping's keys and values; each key must be a word and occur
// only once.
func (c *checker) fields(n *yaml.Node, path string, visit func(key *yaml.Node, field string, value *yaml.Node)) {
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		field, before, hint := join(path, written(key)), len(c.errs), ""
		if written(key) != key.Value {
			hint = fmt.Sprintf("; without quotes the key %s is read as %q", written(key), key.Value)
		}
		if first, twice := lines[key.Value]; twice && key.Kind == yaml.ScalarNode {
			if field == "apiVersion" {
				c.fail(key, field, "is set twice, first in line %d; if another object begins here, put --- above it", first)
				return // what follows is another object's
			}
			c.fail(key, field, "is set twice, first in line %d%s", first, hint)
			continue
		}
		if key.Kind != yaml.ScalarNode || isNull(key) {
			c.fail(key, path, "%s as a key; expected a word", c.describe(key))
			continue
		}
		lines[key.Value] = key.Line
		if first, _ := utf8.DecodeRuneInString(key.Value); isWideSpace(first) && key.Style == 0 {
			c.fail(key, field, "begins with a full-width space (U+%04X), which does not indent; indent with plain spaces", first)
			c.wide = true
			continue
		}
		visit(key, field, value)
		if len(c.errs) > before && c.errs[before].Field == field {
			c.errs[before].Problem += hint
		}
	}
}

func (c *checker) list(n *yaml.Node, t reflect.Type, path string) any {
	if n.Kind != yaml.SequenceNode {
		return c.fail(n, path, "%s; expected a list of %s", c.describe(n), nameOf(t.Elem()))
	}
	out := make([]any, len(n.Content))
	for i, item := range n.Content {
		at := fmt.Sprintf("%s[%d]", path, i)
		if isNull(item) && t.Elem().Kind() == reflect.Interface {
			continue
		}
		if isNull(item) {
			c.fail(item, at, "is empty; expected %s", nameOf(t.Elem()))
			continue
		}
		out[i] = c.check(item, t.Elem(), at)
	}
	return out
}

// free takes any value whatever, as in fields that hold an object of any kind.
func (c *checker) free(n *yaml.Node, path string) any {
	switch n.Kind {
	case yaml.MappingNode:
		return c.mapping(n, reflect.TypeFor[map[string]any](), path)
	case yaml.SequenceNode:
		return c.list(n, reflect.TypeFor[[]any](), path)
	}
	return c.scalar(n, path, anyScalar)
}

// metadata checks what every object needs and defaults the namespace.
func (c *checker) metadata(n *yaml.Node, value map[string]any, resource Resource) {
	node := valueOf(n, "metadata")
	if node != nil && node.Kind != yaml.MappingNode && !isNull(node) {
		return // reported as a wrong type
	}
	meta, _ := value["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
	}
	line := n.Line
	if node != nil {
		line = node.Line
	}
	if empty(meta["name"]) && empty(meta["generateName"]) && !c.reported("metadata.name") && !c.wide {
		c.problem(line, c.object, "metadata.name", "is missing; expected a name, or generateName with a prefix")
	}
	switch {
	case !resource.Namespaced:
		delete(meta, "namespace") // as the API server does
	case empty(meta["namespace"]):
		meta["namespace"] = cmp.Or(c.namespace, DefaultNamespace)
	case c.namespace != "" && meta["namespace"] != c.namespace:
		c.problem(line, c.object, "metadata.namespace", "is %v, which is not the namespace asked for, %s", meta["namespace"], c.namespace)
	}
	if value != nil {
		value["metadata"] = meta
	}
}

// reported reports whether the object's field is known to be wrong already.
func (c *checker) reported(field string) bool {
	for _, err := range c.errs {
		if err.File == c.file && err.Object == c.object && err.Field == field {
			return true
		}
	}
	return false
}

func empty(value any) bool { return value == nil || value == "" }

// join returns the path of a field. Names that would make a path ambiguous, such as
// those of annotations, stand in brackets.
func join(path, name string) string {
	switch {
	case strings.ContainsAny(name, "./[] ") || name == "":
		return path + "[" + name + "]"
	case path == "":
		return name
	}
	return path + "." + name
}

// fieldOf returns the type of a struct's field by its JSON name.
func fieldOf(t reflect.Type, name string) (reflect.Type, bool) {
	for i := range t.NumField() {
		field := t.Field(i)
		tag, inline := jsonName(field)
		if inline {
			if found, ok := fieldOf(deref(field.Type), name); ok {
				return found, true
			}
		} else if tag == name {
			return field.Type, true
		}
	}
	return nil, false
}

func fieldNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		if tag, inline := jsonName(t.Field(i)); inline {
			names = append(names, fieldNames(deref(t.Field(i).Type))...)
		} else if tag != "" {
			names = append(names, tag)
		}
	}
	return names
}

// jsonName returns the name encoding/json gives a field, empty if it has none, or
// that the field's own fields stand in its place.
func jsonName(field reflect.StructField) (name string, inline bool) {
	name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	switch {
	case name == "-" || !field.IsExported():
		return "", false
	case name == "" && deref(field.Type).Kind() == reflect.Struct && (field.Anonymous || strings.Contains(options, "inline")):
		return "", true
	case name == "":
		return field.Name, false
	}
	return name, false
}

func deref(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}
