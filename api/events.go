package api

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// eventTTL is how long an event is kept after it was last seen, as
// kube-apiserver does by default.
const eventTTL = time.Hour

// eventIndex finds the event that says the same, and those that are due to go.
type eventIndex struct {
	known map[eventKey]*eventEntry
	queue []*eventEntry // in order of creation or latest check
	count uint64
}

// eventEntry is an event that was recorded; object is its key in the store.
type eventEntry struct {
	eventKey
	object string
}

// eventKey is what must be equal for a repeated event to be counted instead of
// recorded anew. Upstream: client-go tools/record events_cache.go getEventKey,
// v1.36.
type eventKey struct {
	actor, component, host     string
	kind, namespace, name, uid string
	apiVersion                 string
	eventtype, reason, message string
}

func newEventIndex() eventIndex { return eventIndex{known: map[eventKey]*eventEntry{}} }

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
	if entry := s.events.known[k]; entry != nil {
		if old, ok := st.items[entry.object].(*v1.Event); ok {
			again := old.DeepCopy()
			again.Count++
			again.LastTimestamp = s.now()
			s.put(st, old, again)
			return
		}
	}
	event := s.newEvent(st, k, ref)
	s.put(st, nil, event)
	entry := &eventEntry{k, key(event)}
	s.events.known[k] = entry
	s.events.queue = append(s.events.queue, entry)
}

func (s *Server) newEvent(st *store, k eventKey, ref v1.ObjectReference) *v1.Event {
	namespace := ref.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	now := s.now()
	event := &v1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, CreationTimestamp: now},
		InvolvedObject: ref,
		Type:           k.eventtype, Reason: k.reason, Message: k.message,
		Source:         v1.EventSource{Component: k.component, Host: k.host},
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
		ReportingController: k.component, ReportingInstance: k.host,
	}
	// The time in hex, as upstream, and so that no two are the same the number
	// of the event.
	for taken := true; taken; _, taken = st.items[key(event)] {
		event.Name = fmt.Sprintf("%s.%x", ref.Name, uint64(s.cfg.Now().UnixNano())+s.events.count)
		s.events.count++
	}
	event.UID = s.uid(st, key(event))
	return event
}

// expireEvents removes events that nobody has repeated for an hour. It looks at
// two at a time, those looked at longest ago: a call adds at most one, so none is
// overlooked for long, and no call is slow.
func (s *Server) expireEvents(st *store) {
	x := &s.events
	for range min(2, len(x.queue)) {
		entry := x.queue[0]
		x.queue = x.queue[1:]
		event, ok := st.items[entry.object].(*v1.Event)
		if ok && s.cfg.Now().Sub(event.LastTimestamp.Time) <= eventTTL {
			x.queue = append(x.queue, entry)
			continue
		}
		if x.known[entry.eventKey] == entry {
			delete(x.known, entry.eventKey)
		}
		if ok { // or else somebody deleted it
			s.remove(st, event, event.DeepCopy())
		}
	}
}

// referenceTo names the object that an event is about.
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
