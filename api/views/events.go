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

// EventNames names new events.
type EventNames struct{ count uint64 }

// Name gives a new event a name if it has none: that of its object and the time in hex, as upstream, to which the number of
// the event is added so that no two are the same.
func (x *EventNames) Name(event *v1.Event, now time.Time, stored func(key string) *v1.Event) {
	for name, free := event.Name, false; name == "" && !free; x.count++ {
		event.Name = fmt.Sprintf("%s.%x", event.InvolvedObject.Name, uint64(now.UnixNano())+x.count)
		free = stored(strings.TrimPrefix(event.Namespace+"/"+event.Name, "/")) == nil
	}
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
