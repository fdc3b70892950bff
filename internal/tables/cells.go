package tables

import (
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Columns returns the columns of a kind's table, as an API server sends them. Those that
// kubectl shows with -o wide only have priority 1.
func Columns(kind schema.GroupKind) []metav1.TableColumnDefinition {
	t := tableOf(kind)
	list := make([]metav1.TableColumnDefinition, len(t.columns))
	for i, c := range t.columns {
		list[i] = metav1.TableColumnDefinition{Name: c.name, Type: "string"}
		if i == t.name || c.named {
			list[i].Format = "name"
		}
		if c.wide {
			list[i].Priority = 1
		}
		switch {
		case c.integer:
			list[i].Type = "integer"
		case c.boolean:
			list[i].Type = "boolean"
		case c.date:
			list[i].Type = "date"
		}
	}
	return list
}

// Cells returns the row of an object, one cell for each of the Columns of its kind, a text, an int64 or a bool; nil for
// what has no metadata.
func Cells(kind schema.GroupKind, obj runtime.Object, now time.Time) []any {
	o, ok := obj.(object)
	if !ok {
		return nil
	}
	t := tableOf(kind)
	row := t.row(o, now)
	cells := make([]any, len(row))
	for i, text := range row {
		cells[i] = text
		if n, err := strconv.ParseInt(text, 10, 64); t.columns[i].number && err == nil {
			cells[i] = n
		}
		if (t.columns[i].boolean || t.columns[i].truth) && (text == "true" || text == "false") {
			cells[i] = text == "true"
		}
	}
	return cells
}
