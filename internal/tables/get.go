package tables

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
)

// Get prints what `kubectl get ARGS` prints: "pvc", "pv,pvc", "pvc data",
// "pvc/data pv/pv-1". Objects asked for by name that do not exist are the error;
// the others are printed.
func (v View) Get(w io.Writer, o Options, args ...string) error {
	groups, missing := v.selected(o, args)
	if groups == nil && missing != nil {
		return missing
	}
	if o.Output == "" || o.Output == "wide" {
		return errors.Join(v.printTables(w, o, groups), missing)
	}
	var list []object
	for _, g := range groups {
		list = append(list, g.objects...)
	}
	single := len(list) == 1 && groups[0].named
	return errors.Join(printList(w, o.Output, list, single), missing)
}

// printTables prints a table per group, with the kind in front of the names if
// there are several. Upstream: kubectl get.go Run, v1.36.
func (v View) printTables(w io.Writer, o Options, groups []group) error {
	withKind := slices.ContainsFunc(groups, func(g group) bool { return g.resource.GroupVersionKind != groups[0].resource.GroupVersionKind })
	namespaced, written := true, false
	for _, g := range groups {
		namespaced = namespaced && g.resource.Namespaced
		if len(g.objects) == 0 {
			continue
		}
		if written && !o.NoHeaders {
			fmt.Fprintln(w)
		}
		if err := v.printTable(w, o, g, withKind); err != nil {
			return err
		}
		written = true
	}
	switch {
	case written:
		return nil
	case namespaced && !o.AllNamespaces:
		_, err := fmt.Fprintf(w, "No resources found in %s namespace.\n", o.namespace())
		return err
	}
	_, err := fmt.Fprintln(w, "No resources found")
	return err
}

func (v View) printTable(w io.Writer, o Options, g group, withKind bool) error {
	t := v.tableOf(g.resource.GroupVersionKind)
	withNamespace := o.AllNamespaces && g.resource.Namespaced
	shown := t.shown(o.Output == "wide")
	out := v.aligned(w, 6, 4, 3)
	if !o.NoHeaders {
		var cells []string
		if withNamespace {
			cells = append(cells, "NAMESPACE")
		}
		for _, i := range shown {
			cells = append(cells, strings.ToUpper(t.columns[i].name))
		}
		if o.ShowLabels {
			cells = append(cells, "LABELS")
		}
		fmt.Fprintln(out, strings.Join(cells, "\t"))
	}
	for _, obj := range g.objects {
		row := t.row(obj, v.Now)
		if withKind {
			row[t.name] = g.resource.Qualified() + "/" + row[t.name]
		}
		var cells []string
		if withNamespace {
			cells = append(cells, obj.GetNamespace())
		}
		for _, i := range shown {
			cells = append(cells, firstLine(row[i]))
		}
		if o.ShowLabels {
			cells = append(cells, labels.FormatLabels(obj.GetLabels()))
		}
		fmt.Fprintln(out, strings.Join(cells, "\t"))
	}
	return out.Flush()
}

// firstLine returns what of a cell fits on a line.
func firstLine(cell string) string {
	if at := strings.IndexAny(cell, "\f\n\r"); at >= 0 {
		return cell[:at] + "..."
	}
	return cell
}
