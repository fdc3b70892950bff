package api

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// eventTTL is the time that an event is kept after it was last written, as
// kube-apiserver does by default.
const eventTTL = time.Hour

// eventIndex finds equal events, and those that have expired.
type eventIndex struct {
	seed maphash.Seed
	// known are the entries by the hash of their eventKey, which is too large to be kept
	// for each event.
	known map[uint64]*eventEntry
	// stored are the entries by the event's key in the store.
	stored map[string]*eventEntry
	queue  []*eventEntry // in order of creation or latest check
	count  uint64
}

// eventEntry is an event that was recorded.
type eventEntry struct {
	object  string // its key in the store
	actor   string // the actor that recorded it
	hash    uint64
	next    *eventEntry // another one in known, of the same hash
	written time.Time   // when it was last written
}

// eventKey holds the fields that must be equal for a repeated event to be counted instead of
// recorded anew. Upstream: client-go tools/record events_cache.go getEventKey,
// v1.37.
type eventKey struct {
	actor, component, host     string
	kind, namespace, name, uid string
	apiVersion                 string
	eventtype, reason, message string
}

func newEventIndex() eventIndex {
	return eventIndex{seed: maphash.MakeSeed(), known: map[uint64]*eventEntry{}, stored: map[string]*eventEntry{}}
}

// find returns the entry with that key, and its event; nil if there is none.
func (x *eventIndex) find(st *store, k eventKey) (*eventEntry, *v1.Event) {
	for entry := x.known[maphash.Comparable(x.seed, k)]; entry != nil; entry = entry.next {
		if event, ok := st.items[entry.object].(*v1.Event); ok && keyOfEvent(entry.actor, event) == k {
			return entry, event
		}
	}
	return nil, nil
}

// know adds the entry for find.
func (x *eventIndex) know(entry *eventEntry, k eventKey) {
	entry.actor, entry.hash = k.actor, maphash.Comparable(x.seed, k)
	entry.next, x.known[entry.hash] = x.known[entry.hash], entry
}

// forget drops an entry.
func (x *eventIndex) forget(entry *eventEntry) {
	if x.stored[entry.object] == entry {
		delete(x.stored, entry.object)
	}
	first := x.known[entry.hash]
	for at := &first; *at != nil; at = &(*at).next {
		if *at == entry {
			*at = entry.next
			break
		}
	}
	if first != nil {
		x.known[entry.hash] = first
	} else {
		delete(x.known, entry.hash)
	}
}

// keyOfEvent returns the eventKey of an event that an actor recorded.
func keyOfEvent(actor string, event *v1.Event) eventKey {
	about := &event.InvolvedObject
	return eventKey{
		actor: actor, component: event.Source.Component, host: event.Source.Host,
		kind: about.Kind, namespace: about.Namespace, name: about.Name, uid: string(about.UID), apiVersion: about.APIVersion,
		eventtype: event.Type, reason: event.Reason, message: event.Message,
	}
}

// Event records a core/v1 Event about an object, as a controller's recorder
// does: one that says the same as an earlier one from the same source raises
// that one's count. eventtype is v1.EventTypeNormal or v1.EventTypeWarning. The
// event is a write at the server like any other, but no gate sees it and it is
// not reported to OnWrite.
func (s *Server) Event(actor, component, host string, regarding runtime.Object, eventtype, reason, message string) {
	about, ok := regarding.(object)
	if !ok {
		return
	}
	ref := referenceTo(about)
	k := eventKey{
		actor: actor, component: component, host: host,
		kind: ref.Kind, namespace: ref.Namespace, name: ref.Name, uid: string(ref.UID), apiVersion: ref.APIVersion,
		eventtype: eventtype, reason: reason, message: message,
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st, err := s.store(events)
	if err != nil {
		return // the scheme always has events
	}
	s.expireEvents(st)
	if entry, old := s.events.find(st, k); entry != nil {
		again := new(*old) // what it shares is never written to
		again.Count++
		again.LastTimestamp = s.now()
		s.put(st, old, again)
		entry.written = s.cfg.Now()
		return
	}
	s.events.know(s.createEvent(st, s.newEvent(k, ref)), k)
}

// RecordEvent records an event of events.k8s.io/v1 in the form in which core/v1
// shows it. An event without a name is created under a new name. An event with a
// name is written over the one of that name, as a recorder does to note a series,
// and created if there is none any more. It returns the event as it is stored. As
// with Event, no gate sees the write, and it is not reported to OnWrite.
func (s *Server) RecordEvent(event *v1.Event) *v1.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	event = event.DeepCopy()
	st, err := s.store(events)
	if err != nil {
		return event // the scheme always has events
	}
	s.expireEvents(st)
	if old, ok := st.items[key(event)].(*v1.Event); ok && event.Name != "" {
		s.put(st, old, event)
		if entry := s.events.stored[key(event)]; entry != nil {
			entry.written = s.cfg.Now()
		}
		return event
	}
	event.CreationTimestamp = s.now()
	s.createEvent(st, event)
	return event
}

// ReferenceTo returns a reference to an object, as events have it.
func ReferenceTo(obj runtime.Object) (v1.ObjectReference, bool) {
	about, ok := obj.(object)
	if !ok {
		return v1.ObjectReference{}, false
	}
	return referenceTo(about), true
}

// createEvent stores a new event, and gives it a name if it has none: that of its
// object and the time in hex, as upstream, to which the number of the event is added
// so that no two are the same.
func (s *Server) createEvent(st *store, event *v1.Event) *eventEntry {
	for name, free := event.Name, false; name == "" && !free; s.events.count++ {
		event.Name = fmt.Sprintf("%s.%x", event.InvolvedObject.Name, uint64(s.cfg.Now().UnixNano())+s.events.count)
		free = st.items[key(event)] == nil
	}
	k := key(event)
	event.UID = s.uid(st, k)
	s.put(st, nil, event)
	entry := &eventEntry{object: k, written: s.cfg.Now()}
	s.events.stored[entry.object] = entry
	s.events.queue = append(s.events.queue, entry)
	return entry
}

func (s *Server) newEvent(k eventKey, ref v1.ObjectReference) *v1.Event {
	now := s.now()
	return &v1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: cmp.Or(ref.Namespace, metav1.NamespaceDefault), CreationTimestamp: now},
		InvolvedObject: ref,
		Type:           k.eventtype, Reason: k.reason, Message: k.message,
		Source:         v1.EventSource{Component: k.component, Host: k.host},
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
		ReportingController: k.component, ReportingInstance: k.host,
	}
}

// expireEvents removes events that have not been written for an hour. It looks at
// two at a time, those looked at longest ago: a call adds at most one, so none is
// overlooked for long, and no call is slow.
func (s *Server) expireEvents(st *store) {
	x := &s.events
	for range min(2, len(x.queue)) {
		entry := x.queue[0]
		x.queue = x.queue[1:]
		event, ok := st.items[entry.object].(*v1.Event)
		if ok && s.cfg.Now().Sub(entry.written) <= eventTTL {
			x.queue = append(x.queue, entry)
			continue
		}
		x.forget(entry)
		if ok { // or else it was deleted
			s.remove(st, event, event.DeepCopy())
		}
	}
}

// referenceTo returns a reference to the object that an event is about.
func referenceTo(obj object) v1.ObjectReference {
	gvk := obj.GetObjectKind().GroupVersionKind()
	if gvk.Empty() {
		if gvks, _, err := scheme.Scheme.ObjectKinds(obj); err == nil && len(gvks) > 0 {
			gvk = gvks[0]
		}
	}
	return v1.ObjectReference{
		APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind,
		Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion(),
	}
}
