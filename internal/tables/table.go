package tables

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
)

// table describes the columns of a kind.
type table struct {
	columns []column
	name    int // the column of the name
	row     func(obj object, now time.Time) []string
}

type column struct {
	name string
	wide bool // shown with -o wide only
	// number: over the API the cells are numbers; integer: the column says so, too.
	number, integer bool
	truth           bool // over the API the cells are true or false
	boolean         bool // so they are, and the column says so
	date            bool // the column's type is date
	named           bool // the column's format is name
}

// columns of these names; a name after a star is shown with -o wide only. The cells of a name after # are
// numbers over the API, and after ## the column's type is integer, which upstream says of few columns. After ? they are true or false,
// which a cell with another text is not; after ?? too, though the column's type is string. After @ the column's type is date, after = its format is name.
func columns(names ...string) []column {
	list := make([]column, len(names))
	for i, name := range names {
		c := &list[i]
		name, c.wide = strings.CutPrefix(name, "*")
		name, c.truth = strings.CutPrefix(name, "??")
		name, c.boolean = strings.CutPrefix(name, "?")
		name, c.date = strings.CutPrefix(name, "@")
		name, c.named = strings.CutPrefix(name, "=")
		name, c.number = strings.CutPrefix(name, "#")
		c.name, c.integer = strings.CutPrefix(name, "#")
	}
	return list
}

// listing returns the table of one Go type.
func listing[T object](columns []column, row func(obj T, now time.Time) []string) table {
	return table{columns: columns, row: func(obj object, now time.Time) []string {
		if typed, ok := obj.(T); ok {
			return row(typed, now)
		}
		return make([]string, len(columns)) // the kind in another version
	}}
}

// shown returns the indices of the columns to print.
func (t table) shown(wide bool) []int {
	var list []int
	for i, c := range t.columns {
		if wide || !c.wide {
			list = append(list, i)
		}
	}
	return list
}

// allTables are the tables of the kinds that have one of their own, made once.
var allTables = sync.OnceValue(func() map[schema.GroupKind]table {
	all := storageTables()
	maps.Copy(all, coreTables())
	maps.Copy(all, workloadTables())
	maps.Copy(all, otherTables())
	return all
})

// tableOf returns the table of a kind, NAME and AGE if it has none of its own.
func tableOf(kind schema.GroupKind) table {
	if t, ok := allTables()[kind]; ok {
		return t
	}
	return listing(columns("Name", "Age"), func(obj object, now time.Time) []string {
		return []string{obj.GetName(), age(obj, now)}
	})
}

// tableOf returns the table of a kind of the view.
func (v View) tableOf(kind schema.GroupVersionKind) table {
	if p, ok := v.Kinds.(Printer); ok {
		if columns, cells := p.Printer(kind); columns != nil {
			return defined(columns, cells)
		}
	}
	return tableOf(kind.GroupKind())
}

// defined returns the table of a kind that is defined at run time.
func defined(definitions []metav1.TableColumnDefinition, cells func(obj runtime.Object, now time.Time) []any) table {
	t := table{row: func(obj object, now time.Time) []string {
		row := make([]string, len(definitions))
		for i, cell := range cells(obj, now) {
			if cell != nil {
				row[i] = fmt.Sprint(cell)
			}
		}
		return row
	}}
	for i, d := range definitions {
		t.columns = append(t.columns, column{name: d.Name, wide: d.Priority > 0})
		if d.Format == "name" {
			t.name = i
		}
	}
	return t
}

// Age returns the time since the object was created, in kubectl's short form.
func Age(obj metav1.Object, now time.Time) string { return age(obj, now) }

func age(obj metav1.Object, now time.Time) string { return since(obj.GetCreationTimestamp().Time, now) }

// since returns the time since then, in kubectl's short form.
func since(t, now time.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(t))
}

func orNone(s string) string { return or(s, "<none>") }

func or(s, instead string) string {
	if s == "" {
		return instead
	}
	return s
}

// text returns what a pointer points to, or instead.
func text[T any](p *T, instead string) string {
	if p == nil {
		return instead
	}
	return fmt.Sprint(*p)
}

// accessModes returns the modes' short names in fixed order, each once.
func accessModes(modes []v1.PersistentVolumeAccessMode) string {
	var short []string
	for _, m := range []struct {
		mode  v1.PersistentVolumeAccessMode
		short string
	}{{v1.ReadWriteOnce, "RWO"}, {v1.ReadOnlyMany, "ROX"}, {v1.ReadWriteMany, "RWX"}, {v1.ReadWriteOncePod, "RWOP"}} {
		for _, mode := range modes {
			if mode == m.mode {
				short = append(short, m.short)
				break
			}
		}
	}
	return strings.Join(short, ",")
}

// class returns the beta annotation if there is one, else the field.
func class(obj metav1.Object, field string) string {
	if beta, ok := obj.GetAnnotations()[v1.BetaStorageClassAnnotation]; ok {
		return beta
	}
	return field
}
