package crd

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/util/jsonpath"
)

// cellsFunc are the cells of an object at a time.
type cellsFunc = func(obj runtime.Object, now time.Time) []any

// printer returns the columns of a version: the name, and those that the version has, or else
// the age.
// Upstream: registry/customresource/tableconvertor, v1.37.
func printer(list []apiextensions.CustomResourceColumnDefinition) ([]metav1.TableColumnDefinition, cellsFunc, error) {
	if len(list) == 0 {
		list = []apiextensions.CustomResourceColumnDefinition{{Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp"}}
	}
	columns := []metav1.TableColumnDefinition{{Name: "Name", Type: "string", Format: "name"}}
	var paths []*jsonpath.JSONPath
	for _, c := range list {
		path := jsonpath.New(c.Name).AllowMissingKeys(true)
		if err := path.Parse("{" + c.JSONPath + "}"); err != nil {
			return nil, nil, fmt.Errorf("printer column %s: %w", c.Name, err)
		}
		description := c.Description
		if description == "" {
			description = "Custom resource definition column (in JSONPath format): " + c.JSONPath
		}
		paths = append(paths, path)
		columns = append(columns, metav1.TableColumnDefinition{Name: c.Name, Type: c.Type, Format: c.Format, Description: description, Priority: c.Priority})
	}
	return columns, func(obj runtime.Object, now time.Time) []any {
		cells := []any{obj.(metav1.Object).GetName()}
		for i, path := range paths {
			cells = append(cells, cell(path, list[i].Type, fieldsOf(obj), now))
		}
		return cells
	}, nil
}

// cell returns what a path finds, nil if that is nothing of the column's type.
func cell(path *jsonpath.JSONPath, kind string, obj map[string]any, now time.Time) any {
	found, err := path.FindResults(obj)
	if err != nil || len(found) == 0 || len(found[0]) == 0 {
		return nil
	}
	value := found[0][0].Interface()
	switch kind {
	case "string":
		var text bytes.Buffer
		if path.PrintResults(&text, []reflect.Value{reflect.ValueOf(value)}) != nil {
			return nil
		}
		return text.String()
	case "boolean":
		if is, ok := value.(bool); ok {
			return is
		}
	case "date":
		return age(value, now)
	}
	return number(value, kind)
}

// number returns a value in a column of integers or numbers.
func number(value any, kind string) any {
	switch value := value.(type) {
	case int64:
		if kind == "number" {
			return float64(value)
		}
		return value
	case float64:
		if kind == "integer" {
			return int64(value)
		}
		return value
	}
	return nil
}

// age returns the time since another time, in the short form of kubectl.
func age(value any, now time.Time) any {
	text, ok := value.(string)
	if !ok {
		return nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return "<invalid>"
	}
	return duration.HumanDuration(now.Sub(at))
}

// definitionColumns returns the columns of CustomResourceDefinitions themselves.
// Upstream: registry/customresource/tableconvertor, v1.37.
func definitionColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		{Name: "Name", Type: "string", Format: "name"},
		{Name: "Scope", Type: "string", Description: "Cluster/Namespaced"},
		{Name: "Versions", Type: "string", Description: "Served versions"},
		{Name: "Created At", Type: "date"},
		{Name: "Group", Type: "string", Priority: 1, Description: "API group"},
		{Name: "Kind", Type: "string", Priority: 1, Description: "CustomResource kind"},
		{Name: "ShortNames", Type: "string", Priority: 1, Description: "Short names"},
		{Name: "Established", Type: "boolean", Priority: 1, Description: "Established status"},
	}
}

func definitionCells(obj runtime.Object, _ time.Time) []any {
	def := obj.(*apiextensions.CustomResourceDefinition)
	var served []string
	for _, v := range def.Spec.Versions {
		switch {
		case v.Served && v.Storage:
			served = append(served, v.Name+"(storage)")
		case v.Served:
			served = append(served, v.Name)
		}
	}
	slices.Sort(served)
	return []any{
		def.Name, string(def.Spec.Scope), strings.Join(served, ","), def.CreationTimestamp.UTC().Format(time.RFC3339),
		def.Spec.Group, def.Spec.Names.Kind, strings.Join(def.Spec.Names.ShortNames, ","), isTrue(def, apiextensions.Established),
	}
}
