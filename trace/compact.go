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
	// versions. Storage objects are smaller, unless they carry data in annotations.
	largeObject = 16 << 10
	// longValue is the number of bytes of a value that the trace shows.
	longValue = 1000
)

// fitted returns a write as the log keeps it, and its approximate memory: of one with a large object the changed fields instead of the
// versions. The log has seen the version before, too, so that only new ones are measured.
func (t *Log) fitted(w Write) (Write, int) {
	held := w.held()
	if w.Err != nil || w.compact {
		return w, held
	}
	t.mu.Lock()
	about, large := w.About(), held >= largeObject
	wasLarge := t.large[about]
	switch {
	case !large || w.New == nil:
		delete(t.large, about)
	case t.large == nil:
		t.large = map[Ref]bool{about: true}
	default:
		t.large[about] = true
	}
	t.mu.Unlock()
	if large || wasLarge {
		w = w.cutDown()
		held = w.held()
	}
	return w, held
}

// held returns the approximate memory of the record in bytes. It counts the new version only: the old one was counted with an earlier
// record.
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
		c.gone = goneConditions(c.old, c.Value)
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

// objectSize returns the approximate size of an object in bytes, 0 for nil.
func objectSize(obj runtime.Object) int {
	if sized, ok := obj.(interface{ Size() int }); ok {
		return sized.Size()
	}
	return 0
}

// bare returns the object's name, finalizers and deletion times without the rest.
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

// cutText returns the beginning of a long text, and its length. It copies, so that the rest
// can be freed.
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
