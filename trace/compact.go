package trace

import (
	"fmt"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	// largeObject is the size in bytes from which a record does not keep an object's
	// versions. No object of the storage plane is that large unless somebody put data
	// into it.
	largeObject = 16 << 10
	// longValue is how many bytes of a value the trace shows.
	longValue = 1000
)

// isLarge reports whether the log keeps of the write what changed, and not the versions.
func (w Write) isLarge() bool {
	return w.Err == nil && !w.compact && (w.held() >= largeObject || objectSize(w.Old) >= largeObject)
}

// held is about how many bytes the record holds.
func (w Write) held() int {
	switch {
	case w.Err != nil:
		return len(w.Err.Error())
	case w.compact:
		return len(w.String())
	case w.Size == 0:
		return objectSize(w.New) + objectSize(w.Last)
	}
	return w.Size + objectSize(w.Last)
}

// cutDown returns the write without the versions of a large object.
func (w Write) cutDown() Write {
	for _, c := range w.Changes() {
		c.Value, c.old = cut(newItems(c.old, c.Value)), nil
		w.changes = append(w.changes, c)
	}
	changed := w.New != w.Old
	w.Old, w.Last, w.compact = bare(w.Old), bare(w.Last), true
	if w.New = bare(w.New); !changed {
		w.New = w.Old
	}
	return w
}

// objectSize is about how many bytes the object takes, 0 for nil.
func objectSize(obj runtime.Object) int {
	if sized, ok := obj.(interface{ Size() int }); ok {
		return sized.Size()
	}
	return 0
}

// bare has what the object's life depends on: its name, and what keeps it.
func bare(obj runtime.Object) runtime.Object {
	if obj == nil {
		return nil
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return &metav1.PartialObjectMetadata{}
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: m.GetNamespace(), Name: m.GetName(), UID: m.GetUID(), ResourceVersion: m.GetResourceVersion(), Finalizers: m.GetFinalizers(),
		DeletionTimestamp: m.GetDeletionTimestamp(), DeletionGracePeriodSeconds: m.GetDeletionGracePeriodSeconds(),
	}}
}

// cut cuts all long texts in a value.
func cut(value any) any {
	switch value := value.(type) {
	case string:
		return cutText(value)
	case []any:
		if len(value) > longValue {
			return fmt.Sprintf("(a list of %d items)", len(value))
		}
		list := make([]any, len(value))
		for i, item := range value {
			list[i] = cut(item)
		}
		return list
	case map[string]any:
		if len(value) > longValue {
			return fmt.Sprintf("(%d fields)", len(value))
		}
		fields := make(map[string]any, len(value))
		for name, field := range value {
			fields[name] = cut(field)
		}
		return fields
	}
	return value
}

// cutText returns the beginning of a long text, and how long it is. The copy lets go of the
// rest.
func cutText(s string) string {
	if len(s) <= longValue {
		return s
	}
	end := longValue / 2
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return fmt.Sprintf("%s... (%d bytes in all)", s[:end], len(s))
}
