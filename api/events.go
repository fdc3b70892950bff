package api

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/api/store"
	"github.com/storagesim/storagesim/api/views"
)

// Event records a core/v1 Event about an object, as a controller's recorder
// does: one that says the same as an earlier one from the same source raises
// that one's count. eventtype is v1.EventTypeNormal or v1.EventTypeWarning. The
// event is a write at the server like any other, but no gate sees it and it is
// not reported to OnWrite.
func (s *Server) Event(actor, component, host string, regarding runtime.Object, eventtype, reason, message string) {
	ref, ok := views.ReferenceTo(regarding)
	if !ok {
		return
	}
	event, k := views.NewEvent(actor, component, host, ref, eventtype, reason, message)
	s.objects.Lock()
	defer s.objects.Unlock()
	st, err := s.table(views.Events)
	if err != nil {
		return // the scheme always has events
	}
	s.expireEvents(st)
	if entry, old := s.events.Find(st.event, k); entry != nil {
		again := new(*old) // what it shares is never written to
		again.Count++
		again.LastTimestamp = s.now()
		s.put(st, old, again)
		entry.Written = s.cfg.Now()
		return
	}
	event.CreationTimestamp, event.FirstTimestamp, event.LastTimestamp = s.now(), s.now(), s.now()
	s.events.Know(s.createEvent(st, event), k)
}

// RecordEvent records an event of events.k8s.io/v1 in the form in which core/v1
// shows it. An event without a name is created under a new name. An event with a
// name is written over the one of that name, as a recorder does to note a series,
// and created if there is none any more. It returns the event as it is stored. As
// with Event, no gate sees the write, and it is not reported to OnWrite.
func (s *Server) RecordEvent(event *v1.Event) *v1.Event {
	s.objects.Lock()
	defer s.objects.Unlock()
	event = event.DeepCopy()
	st, err := s.table(views.Events)
	if err != nil {
		return event // the scheme always has events
	}
	s.expireEvents(st)
	if old := st.event(store.Key(event)); old != nil && event.Name != "" {
		s.put(st, old, event)
		s.events.Written(store.Key(event), s.cfg.Now())
		return event
	}
	event.CreationTimestamp = s.now()
	s.createEvent(st, event)
	return event
}

// createEvent stores a new event, and gives it a name if it has none.
func (s *Server) createEvent(st *table, event *v1.Event) *views.EventEntry {
	s.events.Name(event, s.cfg.Now(), st.event)
	event.UID = s.uid(st, store.Key(event))
	s.put(st, nil, event)
	return s.events.Add(store.Key(event), s.cfg.Now())
}

// expireEvents removes events that have not been written for an hour.
func (s *Server) expireEvents(st *table) {
	for _, event := range s.events.Expired(s.cfg.Now(), st.event) {
		s.remove(st, event, event.DeepCopy())
	}
}

// event returns the event that is stored under a key, nil if there is none.
func (st *table) event(key string) *v1.Event {
	event, _ := st.Get(key).(*v1.Event)
	return event
}
