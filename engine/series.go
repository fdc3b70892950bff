package engine

import (
	"cmp"
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/api/views"
	"github.com/storagesim/storagesim/trace"
)

// How long a series is remembered after it was last observed, and how often those
// that go on are written. Upstream: client-go tools/events finishTime, refreshTime,
// v1.37.
const (
	finishTime  = 6 * time.Minute
	refreshTime = 30 * time.Minute
)

// controlPlaneHost is the name of the machine on which the control plane runs.
const controlPlaneHost = "control-plane"

// eventRecorder records events of events.k8s.io/v1, at once, as recorder does.
// Upstream: client-go tools/events eventBroadcasterImpl, v1.37.
type eventRecorder struct {
	env                  *env
	controller, instance string
	// cache are the events that may become a series, the oldest first; known finds
	// them.
	cache []*cachedEvent
	known map[seriesKey]*cachedEvent
}

// seriesKey holds the fields that events of one series share. The message is not among them.
// Upstream: client-go tools/events getKey, v1.37.
type seriesKey struct {
	eventtype, reason, action string
	regarding, related        v1.ObjectReference
}

type cachedEvent struct {
	seriesKey
	event *v1.Event
}

func newEventRecorder(v *env, controller string) *eventRecorder {
	r := &eventRecorder{env: v, controller: controller, instance: controller + "-" + controlPlaneHost, known: map[seriesKey]*cachedEvent{}}
	v.Every("finish event series", finishTime, func(context.Context) { r.finishSeries() })
	v.Every("refresh event series", refreshTime, func(context.Context) { r.refreshExistingEventSeries() })
	return r
}

// Eventf creates an event, or makes the one of the same series count one more. Only
// the second is written at once, further ones when the series is refreshed or ends.
// Upstream: client-go tools/events recordToSink, v1.37.
func (r *eventRecorder) Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any) {
	about, ok := views.ReferenceTo(regarding)
	if !ok || !r.env.alive() {
		return
	}
	k := seriesKey{eventtype: eventtype, reason: reason, action: action, regarding: about}
	if related != nil {
		k.related, _ = views.ReferenceTo(related)
	}
	message := fmt.Sprintf(note, args...)
	if known := r.known[k]; known != nil {
		r.observeAgain(known)
	} else {
		known = &cachedEvent{k, r.env.engine().server.RecordEvent(r.newEvent(k, message))}
		r.cache, r.known[k] = append(r.cache, known), known
	}
	r.env.actor.said(about, trace.Event{Type: eventtype, Reason: reason, Message: message})
}

func (r *eventRecorder) observeAgain(known *cachedEvent) {
	event := known.event.DeepCopy()
	series := cmp.Or(event.Series, &v1.EventSeries{Count: 1})
	event.Series = &v1.EventSeries{Count: series.Count + 1, LastObservedTime: metav1.NewMicroTime(r.env.Now())}
	if known.event = event; event.Series.Count == 2 {
		known.event = r.env.engine().server.RecordEvent(event)
	}
}

// newEvent returns the event as core/v1 shows it.
func (r *eventRecorder) newEvent(k seriesKey, message string) *v1.Event {
	event := &v1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: cmp.Or(k.regarding.Namespace, metav1.NamespaceDefault)},
		InvolvedObject: k.regarding,
		Type:           k.eventtype, Reason: k.reason, Action: k.action, Message: message,
		EventTime:           metav1.NewMicroTime(r.env.Now()),
		ReportingController: r.controller, ReportingInstance: r.instance,
	}
	if k.related != (v1.ObjectReference{}) {
		event.Related = &k.related
	}
	return event
}

// refreshExistingEventSeries writes the series of all events that are known, with their counts up to now.
// Upstream: client-go tools/events refreshExistingEventSeries, v1.37.
func (r *eventRecorder) refreshExistingEventSeries() {
	for _, known := range r.cache {
		if known.event.Series != nil {
			known.event = r.env.engine().server.RecordEvent(known.event)
		}
	}
}

// finishSeries writes the final count of what has not been said for some time, and
// forgets it.
// Upstream: client-go tools/events finishSeries, v1.37.
func (r *eventRecorder) finishSeries() {
	before := r.env.Now().Add(-finishTime)
	kept := r.cache[:0]
	for _, known := range r.cache {
		series := known.event.Series
		switch {
		case series == nil && !known.event.EventTime.Time.Before(before), series != nil && !series.LastObservedTime.Time.Before(before):
			kept = append(kept, known)
			continue
		case series != nil:
			r.env.engine().server.RecordEvent(known.event)
		}
		delete(r.known, known.seriesKey)
	}
	clear(r.cache[len(kept):])
	r.cache = kept
}
