package api

import (
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/api/admission"
	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/names"
	"github.com/storagesim/storagesim/api/store"
	"github.com/storagesim/storagesim/api/views"
)

// recorder stores the events of controllers, and with each of them looks for some that have expired.
type recorder struct {
	tables *tables
	names  names.Namer
	clock  call.Clock
	fresh  views.EventNames
}

// mayCreate reports whether an event may be created in its namespace. A recorder drops one that the server refuses.
// Upstream: tools/record/event.go recordEvent, v1.37.
func (e *recorder) mayCreate(st *table, event *v1.Event) bool {
	return admission.Namespace(held{e.tables}, st.kind, event.Namespace, event.Name) == nil
}

// record does what RecordEvent says.
func (e *recorder) record(event *v1.Event) *v1.Event {
	e.tables.objects.Lock()
	defer e.tables.objects.Unlock()
	st, err := e.tables.of(views.Events)
	if err != nil {
		return event // the scheme always has events
	}
	st.Sweep()
	if old := st.event(store.Key(event)); old != nil && event.Name != "" {
		again := views.Counted(old, event)
		e.tables.put(st, old, again)
		return again
	}
	event.CreationTimestamp, event.ResourceVersion = e.clock.Now(), ""
	if e.mayCreate(st, event) {
		e.create(st, event)
	}
	return event
}

// create stores a new event, and gives it a name if it has none.
func (e *recorder) create(st *table, event *v1.Event) {
	e.fresh.Name(event, e.clock(), st.event)
	st.MakeRoom(store.Key(event)) // before it gets its UID
	event.UID = st.uid(e.names, store.Key(event))
	e.tables.put(st, nil, event)
}

// event returns the event that is stored under a key, nil if there is none.
func (st *table) event(key string) *v1.Event {
	event, _ := st.Get(key).(*v1.Event)
	return event
}
