package tables

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/yaml"
)

// Print prints objects as "yaml" or "json", as one List, without managed
// fields; or as "name" or "jsonpath=TEMPLATE".
func Print(w io.Writer, format string, objects []runtime.Object) error {
	list := make([]object, 0, len(objects))
	for _, obj := range objects {
		if o, ok := obj.(object); ok {
			list = append(list, o)
		}
	}
	return printList(w, format, list, false)
}

// printList prints the objects as one list, or the only one bare if single.
func printList(w io.Writer, format string, list []object, single bool) error {
	if format == "name" {
		for _, obj := range list {
			gvk := kindOf(obj)
			name := strings.ToLower(gvk.Kind)
			if gvk.Group != "" {
				name += "." + gvk.Group
			}
			fmt.Fprintf(w, "%s/%s\n", name, obj.GetName())
		}
		return nil
	}
	items := make([]any, len(list))
	for i, obj := range list {
		fields, err := clean(obj)
		if err != nil {
			return err
		}
		items[i] = fields
	}
	var value any = map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": ""}, "items": items}
	if single {
		value = items[0]
	}
	return encode(w, format, value)
}

func encode(w io.Writer, format string, value any) error {
	template, isPath := strings.CutPrefix(format, "jsonpath=")
	switch {
	case format == "yaml":
		data, err := yaml.Marshal(value)
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	case format == "json":
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "    ")
		return encoder.Encode(value)
	case isPath:
		path := jsonpath.New("out").AllowMissingKeys(true)
		if err := path.Parse(strings.Trim(template, `'"`)); err != nil {
			return err
		}
		if err := path.Execute(w, value); err != nil {
			return err
		}
		_, err := fmt.Fprintln(w)
		return err
	}
	return fmt.Errorf("unable to match a printer suitable for the output format %q, allowed formats are: json,jsonpath=...,name,wide,yaml", format)
}

// clean returns the object as plain data with its kind and without managed fields.
func clean(obj object) (map[string]any, error) {
	whole := obj.DeepCopyObject()
	whole.GetObjectKind().SetGroupVersionKind(kindOf(obj))
	whole.(object).SetManagedFields(nil)
	data, err := json.Marshal(whole)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	return fields, json.Unmarshal(data, &fields)
}
