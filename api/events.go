package api

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/api/admission"
	"github.com/storagesim/storagesim/api/store"
	"github.com/storagesim/storagesim/api/views"
)

// recorder records events, which it finds again to count them, for an hour.
type recorder struct {
	tables *tables
	names  namer
	clock  clock
	index  views.EventIndex
}

// record does what Event says.
func (e *recorder) record(actor, component, host string, regarding runtime.Object, eventtype, reason, message string) {
	ref, ok := views.ReferenceTo(regarding)
	if !ok {
		return
	}
	k := views.EventKey(actor, component, host, ref, eventtype, reason, message)
	e.tables.objects.Lock()
	defer e.tables.objects.Unlock()
	st, err := e.tables.of(views.Events)
	if err != nil {
		return // the scheme always has events
	}
	e.expire(st)
	if entry, old := e.index.Find(st.event, k); entry != nil {
		again := new(*old) // what it shares is never written to
		again.Count++
		again.LastTimestamp = e.clock.now()
		e.tables.put(st, old, again)
		entry.Written = e.clock()
		return
	}
	event := views.NewEvent(ref, k)
	event.CreationTimestamp, event.FirstTimestamp, event.LastTimestamp = e.clock.now(), e.clock.now(), e.clock.now()
	if e.mayCreate(st, event) {
		e.index.Know(e.create(st, event), k)
	}
}

// mayCreate reports whether an event may be created in its namespace. A recorder drops one that the server refuses.
// Upstream: tools/record/event.go recordEvent, v1.37.
func (e *recorder) mayCreate(st *table, event *v1.Event) bool {
	return admission.Namespace(held{e.tables}, st.kind, event.Namespace, event.Name) == nil
}

// overwrite does what RecordEvent says.
func (e *recorder) overwrite(event *v1.Event) *v1.Event {
	e.tables.objects.Lock()
	defer e.tables.objects.Unlock()
	event = event.DeepCopy()
	st, err := e.tables.of(views.Events)
	if err != nil {
		return event // the scheme always has events
	}
	e.expire(st)
	if old := st.event(store.Key(event)); old != nil && event.Name != "" {
		e.tables.put(st, old, event)
		e.index.Written(store.Key(event), e.clock())
		return event
	}
	event.CreationTimestamp = e.clock.now()
	if e.mayCreate(st, event) {
		e.create(st, event)
	}
	return event
}

// create stores a new event, and gives it a name if it has none.
func (e *recorder) create(st *table, event *v1.Event) *views.EventEntry {
	e.index.Name(event, e.clock(), st.event)
	event.UID = e.names.uid(st, store.Key(event))
	e.tables.put(st, nil, event)
	return e.index.Add(store.Key(event), e.clock())
}

// expire removes events that have not been written for an hour.
func (e *recorder) expire(st *table) {
	for _, event := range e.index.Expired(e.clock(), st.event) {
		e.tables.remove(st, event, event.DeepCopy())
	}
}

// event returns the event that is stored under a key, nil if there is none.
func (st *table) event(key string) *v1.Event {
	event, _ := st.Get(key).(*v1.Event)
	return event
}
