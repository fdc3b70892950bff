package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Write is one request to change an object at the API server, carried out or refused, like an
// entry of an audit log. For a large object a Log keeps the changed fields, with long
// values cut, instead of the versions: then Old, New and Last have only their metadata.
type Write struct {
	// RV is the store's resourceVersion after the write: the object's, if
	// the write changed it.
	RV   uint64
	Time time.Time
	// Actor is the name of the client that made the request.
	Actor string
	// Verb is create, update, patch (also for apply), delete or deletecollection.
	Verb                         string
	Resource                     schema.GroupVersionResource
	Subresource, Namespace, Name string
	// Kind is the object's kind, "Pod" also for pods/binding.
	Kind string
	// Old and New are the object before and after, shared and not to be changed.
	// Old is nil if it was created, New if it is gone, both if the write
	// was refused. They are the same pointer if nothing changed.
	Old, New runtime.Object
	// Last is the final state of an object that is gone with this write, shared
	// and not to be changed.
	Last runtime.Object
	// Size is the size of New in bytes, encoded as in etcd. It is 0 if nothing was created or
	// changed, and for requests other than create, update and patch.
	Size int
	// Dropped lists the fields that the server left out of a new object without a word, as kube-apiserver does with those of feature gates
	// that are off. Only the data source of a claim in another namespace is told.
	Dropped []string
	// Code is the HTTP status code of the answer.
	Code int
	// Err is the refusal, an *apierrors.StatusError; nil if the write was carried out.
	Err error

	compact bool
	changes []FieldChange // if compact
}

// Topic implements Record.
func (Write) Topic() string { return "write" }

// About returns the object written.
func (w Write) About() Ref {
	return Ref{Kind: w.Kind, Namespace: w.Namespace, Name: w.Name}
}

func (w Write) String() string {
	about := w.About()
	if w.Err != nil {
		why, _, _ := strings.Cut(w.Err.Error(), "\n") // the following lines list the differences
		return fmt.Sprintf("is refused: %s %s: %d %s: %s", w.verb(), about, w.Code, apierrors.ReasonForError(w.Err), why)
	}
	if pod, ok := w.New.(*v1.Pod); ok && w.Subresource == "binding" {
		return fmt.Sprintf("binds %s to node %s", about, pod.Spec.NodeName)
	}
	s := inflect(w.Verb) + " " + about.String()
	if w.Subresource != "" {
		s += " " + w.Subresource
	}
	switch {
	case w.Old == nil && len(w.Dropped) > 0:
		return s + "; the server drops " + strings.Join(w.Dropped, ", ")
	case w.Old == nil:
		return s
	case w.New == nil && w.Verb == "delete":
		return s
	case w.New == nil:
		return s + ", which removes it"
	case w.Verb == "delete":
		return s + waitsFor(w.New)
	case w.Old == w.New:
		return s + ": no change"
	}
	var parts []string
	for _, c := range w.shownChanges() {
		if !c.isMinor() {
			if c.Path[0] == w.Subresource && len(c.Path) > 1 {
				c.Path = c.Path[1:]
			}
			parts = append(parts, c.String())
		}
	}
	if len(parts) == 0 {
		return s + ": only times and generations"
	}
	return s + ": " + strings.Join(parts, ", ")
}

// shownChanges returns the changes without the data of a Secret.
func (w Write) shownChanges() []FieldChange {
	changes := w.Changes()
	if w.Kind != "Secret" {
		return changes
	}
	changes = slices.Clone(changes)
	for i, c := range changes {
		if c.IsSecret() && !c.Removed && !c.isMinor() {
			changes[i].Value, changes[i].old = "(not shown)", nil
		}
	}
	return changes
}

// IsSecret reports whether a change of a Secret is one of its data, or of the manifest that kubectl keeps with it.
func (c FieldChange) IsSecret() bool {
	switch c.Path[0] {
	case "data", "stringData":
		return true
	case "metadata":
		return len(c.Path) > 2 && c.Path[1] == "annotations" && c.Path[2] == v1.LastAppliedConfigAnnotation
	}
	return false
}

// isMinor reports whether a story leaves the change out: it is a time, follows from another
// change, has no content, or only puts conditions into another order.
func (c FieldChange) isMinor() bool {
	last := c.Path[len(c.Path)-1]
	empty, ok := c.Value.(map[string]any)
	return strings.HasSuffix(last, "Time") || strings.HasSuffix(last, "IPs") ||
		ok && len(empty) == 0 && !c.Removed || isReordered(c.old, c.Value)
}

// isReordered reports whether two lists of conditions differ only in their order. The kubelet
// puts the conditions of others before its own.
func isReordered(old, value any) bool {
	was, _ := old.([]any)
	is, _ := value.([]any)
	if len(was) != len(is) || len(is) == 0 {
		return false
	}
	items, ok := newItems(old, value).([]any)
	return ok && len(items) == 0
}

func (w Write) verb() string {
	if w.Subresource != "" {
		return w.Verb + " " + w.Subresource + " of"
	}
	return w.Verb
}

func inflect(verb string) string {
	verb = strings.TrimSuffix(verb, "collection") // a record is about one object of it
	if strings.HasSuffix(verb, "ch") {
		return verb + "es"
	}
	return verb + "s"
}

// waitsFor says why an object still exists after its deletion.
func waitsFor(obj runtime.Object) string {
	m, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	if f := m.GetFinalizers(); len(f) > 0 {
		return "; it stays until its finalizers are gone: " + strings.Join(f, ", ")
	}
	if g := m.GetDeletionGracePeriodSeconds(); g != nil && *g > 0 {
		return fmt.Sprintf("; its node has %d s to stop it", *g)
	}
	return ""
}

// FieldChange is a field that a write set or removed.
type FieldChange struct {
	// Path lists the names of the fields from the top of the object down to this one.
	Path []string
	// Value is the new value as JSON types; nil when Removed.
	Value   any
	Removed bool

	old any
	// gone are the types of conditions that went, where old does not tell them.
	gone []string
}

// Old returns the value before the write as JSON types; nil if the field was not there, or if the record kept no versions (see
// Write). Do not modify it.
func (c FieldChange) Old() any { return c.old }

// Pointer returns the path as a JSON pointer (RFC 6901).
func (c FieldChange) Pointer() string {
	var b strings.Builder
	for _, p := range c.Path {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(p, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

func (c FieldChange) String() string {
	var b strings.Builder
	for i, p := range c.Path {
		switch {
		case strings.ContainsAny(p, "./"):
			b.WriteString("[" + p + "]")
		case i > 0:
			b.WriteString("." + p)
		default:
			b.WriteString(p)
		}
	}
	if c.Removed {
		return b.String() + " removed"
	}
	items := newItems(c.old, c.Value)
	gone := c.gone
	if gone == nil {
		gone = goneConditions(c.old, c.Value)
	}
	if len(gone) == 0 {
		return b.String() + " = " + cutText(brief(items))
	}
	went := "condition " + strings.Join(gone, " removed, condition ") + " removed"
	if list, ok := items.([]any); ok && len(list) == 0 {
		return went
	}
	return b.String() + " = " + cutText(brief(items)) + ", " + went
}

// Changes returns the fields that differ between Old and New, in order of path: the
// topmost field that appeared or vanished, or the value that changed. Fields that the
// server maintains (resourceVersion, generation, managedFields) and
// status.observedGeneration are left out.
func (w Write) Changes() []FieldChange {
	if w.compact {
		return w.changes
	}
	if w.Old == nil || w.New == nil {
		return nil
	}
	return changesBetween(w.Old, w.New)
}

// newItems returns the items of a list of conditions that are not in the old list, ignoring
// messages and times unless nothing else is new. It returns any other value unchanged.
func newItems(old, value any) any {
	was, ok1 := old.([]any)
	is, ok2 := value.([]any)
	if !ok1 || !ok2 {
		return value
	}
	var items []any
	for _, item := range is {
		m, ok := item.(map[string]any)
		if !ok || m["type"] == nil || m["status"] == nil {
			return value
		}
		same := func(other any) bool {
			o, ok := other.(map[string]any)
			return ok && o["type"] == m["type"] && o["status"] == m["status"] && o["reason"] == m["reason"]
		}
		if !slices.ContainsFunc(was, same) {
			items = append(items, item)
		}
	}
	if len(items) > 0 {
		return items
	}
	return slices.DeleteFunc(slices.Clone(is), func(item any) bool {
		return slices.ContainsFunc(was, func(other any) bool { return equalJSON(other, item) })
	})
}

// goneConditions returns the types of the conditions that are in the old list, and not in the new one.
func goneConditions(old, value any) (gone []string) {
	was, ok1 := old.([]any)
	is, ok2 := value.([]any)
	if !ok1 || !ok2 {
		return nil
	}
	types := func(list []any) (types []string) {
		for _, item := range list {
			if m, ok := item.(map[string]any); ok && m["type"] != nil && m["status"] != nil {
				types = append(types, fmt.Sprint(m["type"]))
			}
		}
		return types
	}
	left := types(is)
	return slices.DeleteFunc(types(was), func(kind string) bool { return slices.Contains(left, kind) })
}

// brief returns a short text for a value: a reference by its name, a condition by
// its status, a container by its state, a capacity by its size, anything else as
// compact JSON.
func brief(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		parts := make([]string, len(v))
		for i, item := range v {
			parts[i] = brief(item)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		if kind, ok := v["kind"].(string); ok && v["name"] != nil {
			ns, _ := v["namespace"].(string)
			return Ref{Kind: kind, Namespace: ns, Name: fmt.Sprint(v["name"])}.String()
		}
		if v["type"] != nil && v["status"] != nil {
			s := fmt.Sprintf("%v=%v", v["type"], v["status"])
			if v["reason"] != nil {
				s += fmt.Sprintf(" (%v)", v["reason"])
			}
			return s
		}
		if size, ok := v["storage"]; ok && len(v) == 1 {
			return fmt.Sprint(size)
		}
		if state, ok := v["state"].(map[string]any); ok && v["name"] != nil {
			return fmt.Sprintf("%v %s", v["name"], strings.Join(slices.Sorted(maps.Keys(state)), ""))
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSpace(b.String())
}
