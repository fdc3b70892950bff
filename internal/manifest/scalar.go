package manifest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/storagesim/storagesim/internal/quantity"
)

// scalar is a type of single values: its name in messages, and the conversion of a YAML
// scalar. hint, if any, says how to mend a wrong value.
type scalar struct {
	name  string
	parse func(n *yaml.Node) (value any, hint string, ok bool)
}

// scalars are the API's own types of single values.
var scalars = map[reflect.Type]scalar{
	reflect.TypeFor[resource.Quantity]():  {"a quantity (number with unit such as 5Gi, 500M, 1.5T)", quantityOf},
	reflect.TypeFor[metav1.Time]():        {"a time such as 2026-01-31T12:00:00Z", parsed(timestamp)},
	reflect.TypeFor[metav1.MicroTime]():   {"a time such as 2026-01-31T12:00:00.000000Z", parsed(timestamp)},
	reflect.TypeFor[metav1.Duration]():    {"a duration such as 90s or 1h30m", parsed(func(s string) error { _, err := time.ParseDuration(s); return err })},
	reflect.TypeFor[intstr.IntOrString](): {"a whole number or text such as 25%", intOrString},
}

var base64Bytes = scalar{"base64", parsed(func(s string) error { _, err := base64.StdEncoding.DecodeString(s); return err })}

var anyScalar = scalar{"a value", func(n *yaml.Node) (any, string, bool) {
	for _, kind := range []scalar{boolean, integer(64), number, text} {
		if value, _, ok := kind.parse(n); ok {
			return value, "", true
		}
	}
	return nil, "", false
}}

// scalarOf returns the scalar of a Go type.
func scalarOf(t reflect.Type) scalar {
	switch t.Kind() {
	case reflect.String:
		return text
	case reflect.Bool:
		return boolean
	case reflect.Float32, reflect.Float64:
		return number
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return integer(t.Bits())
	}
	return anyScalar
}

// nameOf returns what a person calls a value of a type.
func nameOf(t reflect.Type) string {
	t = deref(t)
	if s, ok := scalars[t]; ok {
		return s.name
	}
	switch t.Kind() {
	case reflect.Struct:
		return t.Name()
	case reflect.Slice:
		return "lists"
	case reflect.Map:
		return "mappings"
	case reflect.Interface:
		return "a value"
	}
	return scalarOf(t).name
}

func (c *checker) scalar(n *yaml.Node, path string, want scalar) any {
	hint := ""
	if n.Kind == yaml.ScalarNode {
		value, h, ok := want.parse(n)
		if ok {
			return value
		}
		hint = h
	} else if n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle != 0 && len(n.Content) > 0 && n.Content[0].Kind == yaml.MappingNode {
		hint = isTemplate
	}
	if strings.HasPrefix(want.name, "a quantity") && n.Kind == yaml.ScalarNode && !c.secret {
		return c.fail(n, path, "%q is not %s%s", shortened(n.Value), want.name, hint)
	}
	return c.fail(n, path, "%s; expected %s%s", c.describe(n), want.name, hint)
}

var text = scalar{"text", func(n *yaml.Node) (any, string, bool) {
	if isWordForBoolean(n) {
		return nil, " (put it in quotes)", false
	}
	switch n.ShortTag() {
	case "!!str", "!!timestamp":
		return n.Value, "", true
	case "!!bool", "!!int", "!!float":
		return nil, " (put it in quotes)", false
	}
	return nil, "", false
}}

// The words that YAML 1.1, and so kubectl, reads as booleans.
var (
	yes = []string{"yes", "Yes", "YES", "on", "On", "ON", "y", "Y"}
	no  = []string{"no", "No", "NO", "off", "Off", "OFF", "n", "N"}
)

// isWordForBoolean reports whether a value is such a word, without quotes.
func isWordForBoolean(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style == 0 && n.ShortTag() == "!!str" && (slices.Contains(yes, n.Value) || slices.Contains(no, n.Value))
}

var boolean = scalar{"true or false", func(n *yaml.Node) (any, string, bool) {
	switch {
	case n.ShortTag() == "!!bool":
		return strings.EqualFold(n.Value, "true"), "", true
	case n.Style == 0 && slices.Contains(yes, n.Value):
		return true, "", true
	case n.Style == 0 && slices.Contains(no, n.Value):
		return false, "", true
	case strings.EqualFold(n.Value, "true") || strings.EqualFold(n.Value, "false"):
		return nil, " (without quotes)", false
	}
	return nil, "", false
}}

func integer(bits int) scalar {
	return scalar{"a whole number", func(n *yaml.Node) (any, string, bool) {
		value, err := strconv.ParseInt(n.Value, 0, bits)
		switch {
		case n.ShortTag() == "!!str" && err == nil:
			return nil, " (without quotes)", false
		case n.ShortTag() != "!!int":
			return nil, "", false
		case err != nil:
			return nil, fmt.Sprintf(" from %d to %d", math.MinInt64>>(64-bits), math.MaxInt64>>(64-bits)), false
		}
		return value, "", true
	}}
}

var number = scalar{"a number", func(n *yaml.Node) (any, string, bool) {
	value, err := strconv.ParseFloat(strings.ReplaceAll(n.Value, "_", ""), 64)
	if tag := n.ShortTag(); err != nil || math.IsInf(value, 0) || math.IsNaN(value) || tag != "!!float" && tag != "!!int" {
		return nil, "", false
	}
	return value, "", true
}}

func quantityOf(n *yaml.Node) (any, string, bool) {
	if err := quantity.Check(n.Value); err != nil {
		return nil, ": " + err.Error(), false
	}
	if _, err := resource.ParseQuantity(n.Value); err != nil {
		return nil, "", false
	}
	if tag := n.ShortTag(); tag != "!!str" && tag != "!!int" && tag != "!!float" {
		return nil, "", false
	}
	return n.Value, "", true
}

func intOrString(n *yaml.Node) (any, string, bool) {
	if value, _, ok := integer(32).parse(n); ok {
		return value, "", true
	}
	return text.parse(n)
}

// parsed returns a conversion that takes text which check accepts.
func parsed(check func(string) error) func(*yaml.Node) (any, string, bool) {
	return func(n *yaml.Node) (any, string, bool) {
		value, hint, ok := text.parse(n)
		if ok && check(n.Value) != nil {
			return nil, "", false
		}
		return value, hint, ok
	}
}

func timestamp(s string) error {
	var t metav1.Time
	quoted, _ := json.Marshal(s)
	return t.UnmarshalJSON(quoted)
}

// describe says what a value is, as the start of a sentence about what is wrong
// with it. Values of a Secret are not quoted.
func (c *checker) describe(n *yaml.Node) string {
	if c.secret {
		return typeOfValue(n)
	}
	return describe(n)
}

// describe quotes the value, if it is a single one, and says of what type it is.
func describe(n *yaml.Node) string {
	value := shortened(n.Value)
	if isWordForBoolean(n) {
		return value + " " + typeOfValue(n)
	}
	switch tag := n.ShortTag(); tag {
	case "!!bool", "!!int", "!!float":
		return value + " " + typeOfValue(n)
	case "!!str", "!!timestamp":
		return strconv.Quote(value) + " " + typeOfValue(n)
	case "!!map", "!!seq", "!!null":
		return typeOfValue(n)
	default:
		return "has the tag " + tag
	}
}

// typeOfValue says of what type a value is.
func typeOfValue(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "is a mapping"
	case yaml.SequenceNode:
		return "is a list"
	}
	if isWordForBoolean(n) {
		return "is a boolean"
	}
	switch n.ShortTag() {
	case "!!null":
		return "is empty"
	case "!!bool":
		return "is a boolean"
	case "!!int", "!!float":
		return "is a number"
	case "!!str", "!!timestamp":
		return "is text"
	}
	return "has a tag"
}

// shortened returns the beginning of a long text.
func shortened(text string) string {
	if r := []rune(text); len(r) > 60 {
		return string(r[:57]) + "..."
	}
	return text
}
