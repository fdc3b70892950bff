package tables

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/internal/prose"
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
		if err := o.sortTables(groups); err != nil {
			return err
		}
		return errors.Join(v.printTables(w, o, groups), missing)
	}
	var list []object
	for _, g := range groups {
		list = append(list, g.objects...)
	}
	if o.SortBy != "" && !(len(list) == 1 && groups[0].named) {
		path, err := RelaxedPath(o.SortBy)
		if err == nil {
			err = sortBy(path, list)
		}
		if err != nil {
			return err
		}
	}
	single := len(list) == 1 && groups[0].named
	return errors.Join(printList(w, o.Output, list, single), missing)
}

// sortTables sorts the rows of a table. As kubectl, it does not sort several tables, as there are of several types and of objects that are asked for by
// name: what it looks for is in none of them. Of a table in which the field is missing kubectl says that there are no resources, since it drops the error.
//
// Upstream: kubectl pkg/cmd/get/get.go RuntimeSorter.Sort and sorter.go SortingPrinter.PrintObj, v0.37.2.
func (o Options) sortTables(groups []group) error {
	if o.SortBy == "" {
		return nil
	}
	path, _ := RelaxedPath(o.SortBy) // where that fails, sortBy does
	switch {
	case len(groups) > 1 || groups[0].named && len(groups[0].objects) > 1:
		return notFound(path)
	case len(groups[0].objects) < 2:
		return nil
	}
	return sortBy(path, groups[0].objects)
}

// printTables prints a table per group, with the kind in front of the names if
// there are several. Upstream: kubectl get.go Run, v1.37.
func (v View) printTables(w io.Writer, o Options, groups []group) error {
	withKind := slices.ContainsFunc(groups, func(g group) bool { return g.resource.GroupVersionKind != groups[0].resource.GroupVersionKind })
	namespaced := true
	var grids []grid
	for _, g := range groups {
		namespaced = namespaced && g.resource.Namespaced
		if len(g.objects) > 0 {
			grids = append(grids, v.grid(o, g, withKind))
		}
	}
	switch {
	case len(grids) > 0:
		return printGrids(w, grids, v.Width)
	case namespaced && !o.AllNamespaces:
		_, err := fmt.Fprintf(w, "No resources found in %s namespace.\n", o.namespace())
		return err
	}
	_, err := fmt.Fprintln(w, "No resources found")
	return err
}

// grid returns the table of a group.
func (v View) grid(o Options, g group, withKind bool) grid {
	t := v.tableOf(g.resource.GroupVersionKind)
	out := grid{headings: !o.NoHeaders}
	if withKind {
		out.kind, out.shortKind = g.resource.Qualified()+"/", v.shortName(g.resource)+"/"
	}
	if o.AllNamespaces && g.resource.Namespaced {
		out.columns = append(out.columns, gridColumn{heading: "NAMESPACE", cells: v.cells(g, object.GetNamespace)})
	}
	rows := make([][]string, len(g.objects))
	for i, obj := range g.objects {
		rows[i] = t.row(obj, v.Now)
	}
	for _, i := range t.shown(o.Output == "wide") {
		c := gridColumn{heading: strings.ToUpper(t.columns[i].name), isName: i == t.name}
		c.keep = c.heading == "STATUS" || c.heading == "READY"
		for _, row := range rows {
			c.cells = append(c.cells, v.printed(row[i]))
		}
		out.columns = append(out.columns, c)
	}
	if o.ShowLabels {
		text := func(obj object) string { return labels.FormatLabels(obj.GetLabels()) }
		out.columns = append(out.columns, gridColumn{heading: "LABELS", cells: v.cells(g, text), keep: true})
	}
	return out
}

// cells returns a cell for each object of a group.
func (v View) cells(g group, text func(object) string) []string {
	cells := make([]string, len(g.objects))
	for i, obj := range g.objects {
		cells[i] = v.printed(text(obj))
	}
	return cells
}

// printed returns what is printed of a cell: its first line, with short identifiers, and control characters as escapes.
func (v View) printed(cell string) string {
	cell = prose.Printable(strings.ReplaceAll(firstLine(cell), "\t", " "))
	if v.Shorten != nil {
		cell = v.Shorten(cell)
	}
	return cell
}

// shortName returns the shortest name that people use for a kind: "pvc", "pod".
func (v View) shortName(r manifest.Resource) string {
	known, err := v.Kinds.Find(r.Plural + "." + r.Group)
	if r.Group == "" {
		known, err = v.Kinds.Find(r.Plural)
	}
	switch {
	case err != nil:
		return r.Qualified()
	case len(known.ShortNames) > 0 && r.Kind != "Pod":
		return known.ShortNames[0]
	}
	return strings.ToLower(r.Kind)
}

// firstLine returns what of a cell fits on a line.
func firstLine(cell string) string {
	if at := strings.IndexAny(cell, "\f\n\r"); at >= 0 {
		return cell[:at] + "..."
	}
	return cell
}
