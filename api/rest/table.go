package rest

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/api/views"
	"github.com/storagesim/storagesim/internal/tables"
)

// table returns an object or a list as kubectl prints it.
// Upstream: apiserver handlers asTable, v1.37.
func (c *call) table(obj runtime.Object, gv schema.GroupVersion, opts *metav1.TableOptions) (runtime.Object, error) {
	t := &metav1.Table{Rows: c.noRows()}
	t.SetGroupVersionKind(gv.WithKind("Table"))
	if !opts.NoHeaders {
		t.ColumnDefinitions = c.columns()
	}
	if !meta.IsListType(obj) {
		m, err := meta.Accessor(obj)
		if err != nil {
			return nil, apierrors.NewInternalError(err)
		}
		t.ResourceVersion = m.GetResourceVersion()
		return t, c.addRow(t, obj, gv, opts)
	}
	m, err := meta.ListAccessor(obj)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	t.ListMeta = metav1.ListMeta{ResourceVersion: m.GetResourceVersion(), Continue: m.GetContinue(), RemainingItemCount: m.GetRemainingItemCount()}
	return t, meta.EachListItem(obj, func(item runtime.Object) error { return c.addRow(t, item, gv, opts) })
}

// noRows returns the rows of an empty list: null for CustomResourceDefinitions and kinds that have no columns of their own, whose rows are appended to none.
// Upstream: apiserver pkg/registry/rest/table.go and apiextensions-apiserver pkg/registry/customresourcedefinition/tableconvertor ConvertToTable, beside
// pkg/printers/tablegenerator.go GenerateTable, v1.37.2.
func (c *call) noRows() []metav1.TableRow {
	columns := c.columns()
	if plain := len(columns) == 2 && columns[1].Name == "Created At"; c.kind.typed && (plain || c.kind.gvk.Kind == "CustomResourceDefinition") {
		return nil
	}
	return []metav1.TableRow{}
}

// columns returns the columns of the kind's own entry, else those that kubectl is known to print.
func (c *call) columns() []metav1.TableColumnDefinition {
	if c.t.sub == "scale" {
		return c.scaleColumns()
	}
	if columns, _ := c.h.registry.Printer(c.kind.gvk); columns != nil {
		return columns
	}
	return tables.Columns(printedKind(c.kind.gvk.GroupKind()))
}

// scaleColumns returns the columns of a Scale.
// Upstream: pkg/printers/internalversion AddHandlers and printScale, and apiextensions-apiserver registry/customresource/tableconvertor, v1.37.2.
func (c *call) scaleColumns() []metav1.TableColumnDefinition {
	columns := []metav1.TableColumnDefinition{
		{Name: "Name", Type: "string"}, {Name: "Desired", Type: "integer"}, {Name: "Available", Type: "integer"}, {Name: "Age", Type: "string"},
	}
	if !c.kind.typed {
		columns[0].Format, columns[3].Type = "name", "date"
	}
	return columns
}

func (c *call) scaleCells(s *autoscalingv1.Scale) []any {
	return []any{s.Name, int64(s.Spec.Replicas), int64(s.Status.Replicas), tables.Age(s, c.h.now())}
}

// printedKind returns the kind as which objects are printed: events of events.k8s.io are as those of the core group.
func printedKind(kind schema.GroupKind) schema.GroupKind {
	if kind.Group == eventsv1.GroupName {
		kind.Group = ""
	}
	return kind
}

func (c *call) cells(obj runtime.Object) []any {
	if scale, ok := obj.(*autoscalingv1.Scale); ok {
		return c.scaleCells(scale)
	}
	if _, cells := c.h.registry.Printer(c.kind.gvk); cells != nil {
		return cells(obj, c.h.now())
	}
	if event, ok := obj.(*eventsv1.Event); ok {
		obj = views.CoreForm(event)
	}
	return tables.Cells(printedKind(c.kind.gvk.GroupKind()), obj, c.h.now())
}

// rowConditions returns what a row says of an object beside its cells: that a pod has ended.
// Upstream: pkg/printers/internalversion printPod, v1.37.2.
func rowConditions(obj runtime.Object) []metav1.TableRowCondition {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil
	}
	ended := metav1.TableRowCondition{Type: metav1.RowCompleted, Status: metav1.ConditionTrue, Reason: string(pod.Status.Phase)}
	switch pod.Status.Phase {
	case corev1.PodSucceeded:
		ended.Message = "The pod has completed successfully."
	case corev1.PodFailed:
		ended.Message = "The pod failed."
	default:
		return nil
	}
	return []metav1.TableRowCondition{ended}
}

// addRow adds an object, with as much of it as the client wants to have beside the cells.
func (c *call) addRow(t *metav1.Table, obj runtime.Object, gv schema.GroupVersion, opts *metav1.TableOptions) error {
	row := metav1.TableRow{Cells: c.cells(obj), Conditions: rowConditions(obj)}
	switch opts.IncludeObject {
	case metav1.IncludeNone:
	case metav1.IncludeObject:
		row.Object.Object = labelled(obj, c.kind.gvk)
	default:
		p, err := partial(obj, gv)
		if err != nil {
			return err
		}
		row.Object.Object = p
	}
	t.Rows = append(t.Rows, row)
	return nil
}
