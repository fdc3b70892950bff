package conformance

import (
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// doubts are the differences between two recorded runs, by the object, as writes name it:
// the fields as JSON pointers, or "" for the whole object.
type doubts map[string][]string

// optionalWrites returns the optional writes of a step, counted from 0.
func (r *Recording) optionalWrites(step int) doubts {
	found := doubts{}
	for _, line := range r.Differs {
		if rest, ok := strings.CutPrefix(line, fmt.Sprintf("step %d writes ", step)); ok {
			found.add(rest)
		}
	}
	return found
}

// optionalAtEnd returns single fields whose last recorded value only one run wrote: their value
// at the end is chance, too.
func (r *Recording) optionalAtEnd() doubts {
	found := doubts{}
	last := map[string]string{} // object and field -> why they are in doubt
	for i, step := range r.Steps {
		for _, w := range expectations(step.Writes).writes {
			for field, value := range w.changed {
				last[w.object+" "+field] = r.onlyInRun1(i, w.object+" "+field, text(map[string]any{field: value}))
			}
		}
	}
	for _, what := range sortedKeys(last) {
		if last[what] != "" {
			found.add(what)
		}
	}
	return found
}

// onlyInRun1 returns the line that says that in a step only the first run wrote such a value; "" if
// there is none.
func (r *Recording) onlyInRun1(step int, what, value string) string {
	for _, line := range r.Differs {
		rest, ok := strings.CutPrefix(line, fmt.Sprintf("step %d writes %s: run 1 ", step, what))
		first, _, _ := strings.Cut(rest, "| run 2 ")
		if ok && strings.Contains(strings.ReplaceAll(first, " ", ""), strings.ReplaceAll(value, " ", "")) {
			return line
		}
	}
	return ""
}

// add reads "nodes node-1 /spec/taints: run 1 [...] | run 2 [...]".
func (d doubts) add(text string) {
	what, _, _ := strings.Cut(text, ": run 1")
	what, _, _ = strings.Cut(what, " finalizers by ")
	object, field := what, ""
	if i := strings.LastIndex(what, " /"); i > 0 {
		object, field = what[:i], what[i+1:]
	}
	d[object] = append(d[object], field)
}

// leaveOut removes from writes what is in doubt.
func (d doubts) leaveOut(writes []write) []write {
	var list []write
	for _, w := range writes {
		fields, doubtful := d[w.object]
		if !doubtful {
			list = append(list, w)
			continue
		}
		w.changed = maps.Clone(w.changed)
		whole := w.created != nil || w.changed == nil
		for _, field := range fields {
			whole = whole || field == ""
			delete(w.changed, field)
		}
		if !whole && len(w.changed) > 0 {
			list = append(list, w)
		}
	}
	return list
}

// without returns an object at the end without its doubtful fields.
func (d doubts) without(key string, obj map[string]any) map[string]any {
	kind, name, _ := strings.Cut(key, "/")
	fields := d[kind+"s "+name]
	if len(fields) == 0 || obj == nil {
		return obj
	}
	obj = runtime.DeepCopyJSON(obj)
	for _, field := range fields {
		path := strings.Split(strings.TrimPrefix(field, "/"), "/")
		unstructured.RemoveNestedField(obj, unescaped(path)...)
	}
	return obj
}

func unescaped(path []string) []string {
	for i := range path {
		path[i] = unescape.Replace(path[i])
	}
	return path
}
