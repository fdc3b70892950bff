package store

import (
	"fmt"
	"iter"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/trace"
)

// Selector picks objects. The zero value picks all; so does a nil Labels or
// Fields.
type Selector struct {
	Namespace string
	Labels    labels.Selector
	Fields    fields.Selector
}

// filter is a Selector, parsed and checked.
type filter struct {
	Selector
	bucket bucket
	fields Fields
}

// bucket identifies the followers of objects with one value of a field, so that a change wakes
// only those it may concern. Followers in the zero bucket are woken by all changes.
type bucket struct{ field, value string }

const (
	fieldName      = "metadata.name"
	fieldNamespace = "metadata.namespace"
	fieldNodeName  = "spec.nodeName"
)

func newFilter(fields Fields, sel Selector) filter {
	f := filter{Selector: sel, fields: fields}
	if f.Labels != nil && f.Labels.Empty() {
		f.Labels = nil
	}
	if f.Fields != nil && f.Fields.Empty() {
		f.Fields = nil
	}
	if f.Namespace != "" {
		f.bucket = bucket{fieldNamespace, f.Namespace}
	}
	if f.Fields == nil {
		return f
	}
	for _, field := range []string{fieldName, fieldNodeName} {
		if value, ok := f.Fields.RequiresExactMatch(field); ok {
			f.bucket = bucket{field, value}
		}
	}
	return f
}

// bucketsOf returns the buckets whose followers a change may concern.
func (t *Table) bucketsOf(c control.Change) ([5]bucket, int) {
	obj := c.Object.(call.Object)
	buckets := [5]bucket{1: {fieldName, obj.GetName()}}
	n := 2
	if ns := obj.GetNamespace(); ns != "" {
		buckets[n] = bucket{fieldNamespace, ns}
		n++
	}
	nodeOf, ok := t.Fields[fieldNodeName]
	if !ok {
		return buckets, n
	}
	node := nodeOf(c.Object)
	buckets[n] = bucket{fieldNodeName, node}
	n++
	if c.Old != nil {
		if old := nodeOf(c.Old); old != node {
			buckets[n] = bucket{fieldNodeName, old}
			n++
		}
	}
	return buckets, n
}

func (f *filter) matches(obj runtime.Object) bool {
	o := obj.(call.Object)
	if f.Namespace != "" && o.GetNamespace() != f.Namespace {
		return false
	}
	if f.Labels != nil && !f.Labels.Matches(labels.Set(o.GetLabels())) {
		return false
	}
	return f.Fields == nil || f.Fields.Matches(selectedFields{o, f.fields})
}

// first returns the selected objects of a list, which it takes over, at most limit if that is not 0, and how many objects
// follow the last of them. As upstream, that counts objects that are not selected: a list may go on and have nothing more.
// Upstream: apiserver storage/cacher Cacher.getListFromCache, v1.37.2.
func (f *filter) first(list []runtime.Object, limit int64) (selected []runtime.Object, rest int64) {
	all := f.Labels == nil && f.Fields == nil
	if all && (limit == 0 || int64(len(list)) <= limit) {
		return list, 0
	}
	selected = list[:0]
	for i, obj := range list {
		if !all && !f.matches(obj) {
			continue
		}
		if selected = append(selected, obj); int64(len(selected)) == limit {
			return selected, int64(len(list) - 1 - i)
		}
	}
	return selected, 0
}

// see returns a change as a watcher with this filter sees it: an object that leaves
// the selection is deleted, with its last selected state; one that enters is
// added.
func (f *filter) see(c control.Change) (control.Change, bool) {
	if f.Labels == nil && f.Fields == nil {
		return c, f.Namespace == "" || c.Object.(call.Object).GetNamespace() == f.Namespace
	}
	before := c.Old != nil && f.matches(c.Old)
	after := c.Type != watch.Deleted && f.matches(c.Object)
	switch {
	case before && after:
		return c, true
	case after:
		return control.Change{Type: watch.Added, Item: c.Item, RV: c.RV, Heartbeat: trace.IsHeartbeat(nil, c.Object)}, true
	case before && c.Type == watch.Deleted:
		return c, true
	case before:
		last := c.Old.DeepCopyObject().(call.Object)
		last.SetResourceVersion(c.Object.(call.Object).GetResourceVersion())
		return control.Change{Type: watch.Deleted, Item: control.Item{Key: c.Key, Object: last}, Old: c.Old, RV: c.RV,
			Heartbeat: trace.IsHeartbeat(c.Old, last)}, true
	}
	return control.Change{}, false
}

// list returns the selected objects in order of key.
func (t *Table) list(f *filter) []runtime.Object {
	list := []runtime.Object{}
	for _, obj := range t.selected(f) {
		list = append(list, obj)
	}
	return list
}

// selected walks the objects that a filter selects, in order of key.
func (t *Table) selected(f *filter) iter.Seq2[string, call.Object] {
	return func(yield func(string, call.Object) bool) {
		if name := f.bucket; name.field == fieldName && (f.Namespace != "" || !t.Namespaced) {
			k := KeyOf(f.Namespace, name.value)
			if obj := t.Get(k); obj != nil && f.matches(obj) {
				yield(k, obj)
			}
			return
		}
		for k := range t.keysIn(f.Namespace) {
			if obj := t.items[k]; f.matches(obj) && !t.expired(k) && !yield(k, obj) {
				return
			}
		}
	}
}

// SelectorOf reads the selectors of a list or watch request, whose other options it checks, too.
// Upstream: apiserver endpoints/handlers ListResource, v1.37.2, whose order of checks this is.
func SelectorOf(known Fields, namespaced bool, namespace string, opts metav1.ListOptions, watch bool) (Selector, error) {
	sel := Selector{Namespace: namespace}
	var err error
	if opts.LabelSelector != "" {
		if sel.Labels, err = labels.Parse(opts.LabelSelector); err != nil {
			return sel, apierrors.NewBadRequest(err.Error())
		}
	}
	if opts.FieldSelector != "" {
		if sel.Fields, err = fields.ParseSelector(opts.FieldSelector); err != nil {
			return sel, apierrors.NewBadRequest(err.Error())
		}
	}
	if err := CheckListOptions(opts, watch); err != nil || sel.Fields == nil {
		return sel, err
	}
	for _, r := range sel.Fields.Requirements() {
		if err := knowsField(known, namespaced, r.Field); err != nil {
			return sel, apierrors.NewBadRequest(err.Error())
		}
	}
	return sel, nil
}

// knowsField refuses a field that objects of this kind cannot be selected by. Kinds outside of namespaces with fields of their own, and
// custom ones, know no namespace; the others do.
// Upstream: apimachinery runtime DefaultMetaV1FieldSelectorConversion, pkg/apis/core/v1 addConversionFuncs, and apiextensions-apiserver
// pkg/apiserver/conversion ConvertFieldLabel, v1.37.2.
func knowsField(known Fields, namespaced bool, field string) error {
	if field == fieldName || field == fieldNamespace && (namespaced || known == nil) {
		return nil
	}
	if known == nil {
		return fmt.Errorf("%q is not a known field selector: only %q, %q", field, fieldName, fieldNamespace)
	}
	if _, isJob := known["status.successful"]; isJob && known[field] == nil {
		return fmt.Errorf("field label %q not supported for Job", field) // a text of its own: batch/v1 conversion.go, v1.37.2
	}
	if _, ok := known[field]; !ok {
		return fmt.Errorf("field label not supported: %s", field)
	}
	return nil
}

// selectedFields shows the fields by which an object can be selected.
type selectedFields struct {
	call.Object
	by Fields
}

// Has implements fields.Fields.
func (f selectedFields) Has(field string) bool { return f.Get(field) != "" }

// Get implements fields.Fields.
func (f selectedFields) Get(field string) string {
	switch field {
	case fieldName:
		return f.GetName()
	case fieldNamespace:
		return f.GetNamespace()
	}
	if get, ok := f.by[field]; ok {
		return get(f.Object)
	}
	return ""
}
