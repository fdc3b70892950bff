package view

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/trace"
)

// The bounds of single values. A trace has bounds of its own for large objects.
const (
	longText  = 4000
	longList  = 200
	deepValue = 20
)

// notShown stands for what is secret.
const notShown = "(not shown)"

// printable returns a text for people: control characters, and those that change the direction of writing, are escapes, and a long
// text is cut.
func printable(text string) string {
	text = prose.Printable(text)
	if strings.ContainsFunc(text, turns) {
		var b strings.Builder
		for _, r := range text {
			if turns(r) {
				fmt.Fprintf(&b, `\u%04x`, r)
			} else {
				b.WriteRune(r)
			}
		}
		text = b.String()
	}
	if len(text) <= longText {
		return text
	}
	end := longText
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s... (%d bytes in all)", text[:end], len(text))
}

// turns reports whether a character changes the direction of what follows, so that a name could look like another.
func turns(r rune) bool { return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 }

// valueOf returns an object as JSON types, without what is secret or of the server's own accounts.
func valueOf(obj runtime.Object, kind, apiVersion string) any {
	var fields map[string]any
	if custom, ok := obj.(*unstructured.Unstructured); ok {
		fields = custom.DeepCopy().Object
	} else {
		converted, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			return nil
		}
		fields = converted
	}
	fields["kind"], fields["apiVersion"] = kind, apiVersion
	unstructured.RemoveNestedField(fields, "metadata", "managedFields")
	if kind == "Secret" {
		hide(fields, "data")
		hide(fields, "stringData")
		if m, ok := fields["metadata"].(map[string]any); ok {
			hideText(m["annotations"], v1.LastAppliedConfigAnnotation)
		}
	}
	return cut(fields, 0)
}

// hide replaces the values of a map, and keeps its keys.
func hide(fields map[string]any, name string) {
	switch data := fields[name].(type) {
	case nil:
	case map[string]any:
		for key := range data {
			data[key] = notShown
		}
	default:
		fields[name] = notShown
	}
}

// hideText replaces one value of a map.
func hideText(fields any, name string) {
	if m, ok := fields.(map[string]any); ok && m[name] != nil {
		m[name] = notShown
	}
}

// changesOf returns the changes of a write; for a new object the whole object.
func changesOf(w trace.Write) []Change {
	if w.Err != nil {
		return nil
	}
	if w.Old == nil && w.New != nil {
		return []Change{{Path: "", Value: valueOf(w.New, w.Kind, w.Resource.GroupVersion().String())}}
	}
	var changes []Change
	for _, c := range w.Changes() {
		change := Change{Path: c.Pointer(), Old: cut(c.Old(), 0), Value: cut(c.Value, 0), Removed: c.Removed}
		if w.Kind == "Secret" && isSecret(c) {
			change.Old, change.Value = secretly(change.Old), secretly(change.Value)
		}
		changes = append(changes, change)
	}
	return changes
}

// isSecret reports whether a field of a Secret has its data, which a removed field around it had, too.
func isSecret(c trace.FieldChange) bool {
	return c.IsSecret() || c.Removed && c.Path[0] == "metadata" && (len(c.Path) == 1 || len(c.Path) == 2 && c.Path[1] == "annotations")
}

func secretly(value any) any {
	if value == nil {
		return nil
	}
	return notShown
}

// cut returns a value with long texts and lists cut.
func cut(value any, depth int) any {
	if depth > deepValue {
		return "..."
	}
	switch value := value.(type) {
	case string:
		return cutText(value)
	case float64:
		if math.IsNaN(value) || math.IsInf(value, 0) { // JSON has neither
			return fmt.Sprint(value)
		}
	case []any:
		list := make([]any, 0, min(len(value), longList))
		for i, item := range value {
			if i == longList {
				list = append(list, fmt.Sprintf("... (%d items in all)", len(value)))
				break
			}
			list = append(list, cut(item, depth+1))
		}
		return list
	case map[string]any:
		if len(value) > longList {
			return fmt.Sprintf("(%d fields)", len(value))
		}
		fields := make(map[string]any, len(value))
		for name, field := range value {
			fields[cutText(name)] = cut(field, depth+1)
		}
		return fields
	}
	return value
}

func cutText(text string) string {
	if len(text) <= longText {
		return text
	}
	return printable(text)
}
