package views

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/storagesim/storagesim/api/internal/call"
)

// eventTTL is the time that an event is kept after it was last written, as
// kube-apiserver does by default.
const eventTTL = time.Hour

// EventIndex finds the events that have expired.
type EventIndex struct {
	stored map[string]*eventEntry // by the event's key in the store
	queue  []*eventEntry          // in order of creation or latest check
	count  uint64
}

// eventEntry is an event that was recorded.
type eventEntry struct {
	object  string    // its key in the store
	written time.Time // when it was last written
}

// NewEventIndex returns an index without events.
func NewEventIndex() EventIndex { return EventIndex{stored: map[string]*eventEntry{}} }

// Name gives a new event a name if it has none: that of its object and the time in hex, as upstream, to which the number of
// the event is added so that no two are the same.
func (x *EventIndex) Name(event *v1.Event, now time.Time, stored func(key string) *v1.Event) {
	for name, free := event.Name, false; name == "" && !free; x.count++ {
		event.Name = fmt.Sprintf("%s.%x", event.InvolvedObject.Name, uint64(now.UnixNano())+x.count)
		free = stored(strings.TrimPrefix(event.Namespace+"/"+event.Name, "/")) == nil
	}
}

// Add adds the entry of a new event, which has this key in the store.
func (x *EventIndex) Add(key string, now time.Time) {
	entry := &eventEntry{object: key, written: now}
	x.stored[key] = entry
	x.queue = append(x.queue, entry)
}

// Written notes that an event was written again.
func (x *EventIndex) Written(key string, now time.Time) {
	if entry := x.stored[key]; entry != nil {
		entry.written = now
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
		if event != nil && now.Sub(entry.written) <= eventTTL {
			x.queue = append(x.queue, entry)
			continue
		}
		if x.stored[entry.object] == entry {
			delete(x.stored, entry.object)
		}
		if event != nil { // or else it was deleted
			events = append(events, event)
		}
	}
	return events
}

// Counted returns the stored event with what a recorder writes again. That is the event that it gives, if it was made of the stored one.
func Counted(old, event *v1.Event) *v1.Event {
	if event != old && event.UID == old.UID && event.ResourceVersion == old.ResourceVersion {
		return event
	}
	again := new(*old) // what it shares is never written to
	again.Count, again.LastTimestamp, again.Message, again.Series = event.Count, event.LastTimestamp, event.Message, event.Series
	return again
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
