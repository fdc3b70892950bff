package views

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/storagesim/storagesim/api/internal/call"
)

// eventTTL is the time that an event is kept after it was last written, as
// kube-apiserver does by default.
const eventTTL = time.Hour

// EventIndex finds equal events, and those that have expired.
type EventIndex struct {
	seed maphash.Seed
	// known are the entries by the hash of their eventKey, which is too large to be kept
	// for each event.
	known map[uint64]*EventEntry
	// stored are the entries by the event's key in the store.
	stored map[string]*EventEntry
	queue  []*EventEntry // in order of creation or latest check
	count  uint64
}

// EventEntry is an event that was recorded.
type EventEntry struct {
	object  string // its key in the store
	actor   string // the actor that recorded it
	hash    uint64
	next    *EventEntry // another one in known, of the same hash
	Written time.Time   // when it was last written
}

// eventKey holds the fields that must be equal for a repeated event to be counted instead of
// recorded anew. Upstream: client-go tools/record events_cache.go getEventKey,
// v1.37.
type eventKey struct {
	actor, component, host     string
	kind, namespace, name, uid string
	apiVersion, fieldPath      string
	eventtype, reason, message string
}

// NewEventIndex returns an index without events.
func NewEventIndex() EventIndex {
	return EventIndex{seed: maphash.MakeSeed(), known: map[uint64]*EventEntry{}, stored: map[string]*EventEntry{}}
}

// Find returns the entry with that key, and its event; nil if there is none. stored returns the event that is stored under a key.
func (x *EventIndex) Find(stored func(key string) *v1.Event, k eventKey) (*EventEntry, *v1.Event) {
	for entry := x.known[maphash.Comparable(x.seed, k)]; entry != nil; entry = entry.next {
		if event := stored(entry.object); event != nil && keyOfEvent(entry.actor, event) == k {
			return entry, event
		}
	}
	return nil, nil
}

// Know adds the entry for find.
func (x *EventIndex) Know(entry *EventEntry, k eventKey) {
	entry.actor, entry.hash = k.actor, maphash.Comparable(x.seed, k)
	entry.next, x.known[entry.hash] = x.known[entry.hash], entry
}

// forget drops an entry.
func (x *EventIndex) forget(entry *EventEntry) {
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
	return EventKey(actor, event.Source.Component, event.Source.Host, event.InvolvedObject, event.Type, event.Reason, event.Message)
}

// NewEvent returns the event that a recorder records, without its times. EventKey has made the key.
func NewEvent(ref v1.ObjectReference, k eventKey) *v1.Event {
	return &v1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: cmp.Or(ref.Namespace, metav1.NamespaceDefault)},
		InvolvedObject: ref,
		Type:           k.eventtype, Reason: k.reason, Message: k.message,
		Source: v1.EventSource{Component: k.component, Host: k.host}, Count: 1,
		ReportingController: k.component, ReportingInstance: k.host,
	}
}

// EventKey returns the eventKey of the event that an actor records.
func EventKey(actor, component, host string, ref v1.ObjectReference, eventtype, reason, message string) eventKey {
	return eventKey{
		actor: actor, component: component, host: host,
		kind: ref.Kind, namespace: ref.Namespace, name: ref.Name, uid: string(ref.UID), apiVersion: ref.APIVersion, fieldPath: ref.FieldPath,
		eventtype: eventtype, reason: reason, message: message,
	}
}

// Name gives a new event a name if it has none: that of its object and the time in hex, as upstream, to which the number of
// the event is added so that no two are the same.
func (x *EventIndex) Name(event *v1.Event, now time.Time, stored func(key string) *v1.Event) {
	for name, free := event.Name, false; name == "" && !free; x.count++ {
		event.Name = fmt.Sprintf("%s.%x", event.InvolvedObject.Name, uint64(now.UnixNano())+x.count)
		free = stored(strings.TrimPrefix(event.Namespace+"/"+event.Name, "/")) == nil
	}
}

// Add adds the entry of a new event, which has this key in the store.
func (x *EventIndex) Add(key string, now time.Time) *EventEntry {
	entry := &EventEntry{object: key, Written: now}
	x.stored[key] = entry
	x.queue = append(x.queue, entry)
	return entry
}

// Written notes that an event was written again.
func (x *EventIndex) Written(key string, now time.Time) {
	if entry := x.stored[key]; entry != nil {
		entry.Written = now
	}
}

// Expired returns events that have not been written for an hour, and forgets them. It looks at
// two at a time, those looked at longest ago: a call adds at most one, so none is
// overlooked for long, and no call is slow.
func (x *EventIndex) Expired(now time.Time, stored func(key string) *v1.Event) (events []*v1.Event) {
	for range min(2, len(x.queue)) {
		entry := x.queue[0]
		x.queue = x.queue[1:]
		event := stored(entry.object)
		if event != nil && now.Sub(entry.Written) <= eventTTL {
			x.queue = append(x.queue, entry)
			continue
		}
		x.forget(entry)
		if event != nil { // or else it was deleted
			events = append(events, event)
		}
	}
	return events
}

// ReferenceTo returns a reference to the object that an event is about, obj itself if it is one already, and false if it has no metadata.
//
// Upstream: client-go tools/reference GetReference, v1.37.2.
func ReferenceTo(obj runtime.Object) (v1.ObjectReference, bool) {
	if ref, ok := obj.(*v1.ObjectReference); ok {
		return *ref, true
	}
	about, ok := obj.(call.Object)
	if !ok {
		return v1.ObjectReference{}, false
	}
	gvk := obj.GetObjectKind().GroupVersionKind()
	if gvk.Empty() {
		if gvks, _, err := scheme.Scheme.ObjectKinds(obj); err == nil && len(gvks) > 0 {
			gvk = gvks[0]
		}
	}
	return v1.ObjectReference{
		APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind,
		Namespace: about.GetNamespace(), Name: about.GetName(), UID: about.GetUID(), ResourceVersion: about.GetResourceVersion(),
	}, true
}

// Events is the resource of the events that are stored.
var Events = v1.SchemeGroupVersion.WithResource("events")
