package engine

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/api/views"
	"github.com/storagesim/storagesim/internal/bounded"
	"github.com/storagesim/storagesim/trace"
)

// recorder records API events at once, without a yield point: upstream's
// broadcaster does it in the background, and no controller's logic depends on it.
type recorder struct {
	env             *env
	component, host string
	correlator      correlator
}

func newRecorder(v *env, component string) *recorder {
	r := &recorder{env: v, component: component}
	if process, node, ok := strings.Cut(v.actor.name, "/"); ok && process == component {
		r.host = node // "kubelet/node-1"
	}
	return r
}

func (r *recorder) Eventf(obj runtime.Object, eventtype, reason, format string, args ...any) {
	r.Event(obj, eventtype, reason, fmt.Sprintf(format, args...))
}

// maxMessage is the number of bytes of an event's message, and of a failed key's error, that are kept.
const maxMessage = 16 << 10

func (r *recorder) Event(obj runtime.Object, eventtype, reason, message string) {
	if !r.env.alive() {
		return
	}
	message = bounded.Text(message, maxMessage)
	ref, ok := views.ReferenceTo(obj)
	if !ok {
		return
	}
	e := r.env.engine()
	now := metav1.NewTime(e.Now().Truncate(time.Second))
	o, dropped := r.correlator.correlate(e.Now(), &ref, eventtype, reason, message)
	event, again := o.event, o.event != nil && !o.combined
	switch {
	case event == nil:
		event = r.newEvent(&ref, eventtype, reason, now)
	case o.sent:
		copied := *event // what it shares is never written to
		event = &copied
	}
	event.Count, event.LastTimestamp, event.Message = event.Count+1, now, o.message
	if o.event, o.sent = event, !dropped; o.sent {
		o.event = e.server.RecordEvent(event)
	}
	r.env.actor.said(ref, trace.Event{Type: eventtype, Reason: reason, Message: message, Repeated: again, Dropped: dropped, Combined: o.combined})
}

// newEvent returns an event that has not been counted yet.
func (r *recorder) newEvent(ref *v1.ObjectReference, eventtype, reason string, now metav1.Time) *v1.Event {
	return &v1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: cmp.Or(ref.Namespace, metav1.NamespaceDefault)},
		InvolvedObject: *ref,
		Type:           eventtype, Reason: reason,
		Source:              v1.EventSource{Component: r.component, Host: r.host},
		FirstTimestamp:      now,
		ReportingController: r.component, ReportingInstance: r.host,
	}
}

// said notes an event in the trace. It lacks what it is about, and whether it is repeated unless that is known.
func (a *actor) said(of v1.ObjectReference, event trace.Event) {
	e := a.engine
	event.About = trace.Ref{Kind: of.Kind, Namespace: of.Namespace, Name: of.Name}
	if !event.Repeated {
		key := saidKey{a.name, of.UID, of.FieldPath, event.Reason, event.Message}
		e.mu.Lock()
		event.Repeated = e.said[key]
		e.said[key] = true
		e.mu.Unlock()
	}
	e.record(a.name, event)
}

// saidByClient notes an event in the trace that a client has written itself, with a recorder of its own or without. Those of the controllers do
// not come here: see api.Server.Event. The engine is locked.
func (e *Engine) saidByClient(w trace.Write) {
	event, ok := w.New.(*v1.Event)
	if w.Err != nil || !ok || w.Verb == "delete" || w.Old == w.New {
		return
	}
	of, message := event.InvolvedObject, bounded.Text(event.Message, maxMessage)
	key := saidKey{w.Actor, of.UID, of.FieldPath, event.Reason, message}
	e.trace.Add(trace.Entry{Time: e.now, Actor: w.Actor, Record: trace.Event{
		About: trace.Ref{Kind: of.Kind, Namespace: of.Namespace, Name: of.Name}, Type: event.Type, Reason: event.Reason, Message: message, Repeated: e.said[key],
	}})
	e.said[key] = true
}

// saidKey finds events said before.
type saidKey struct {
	actor                 string
	about                 types.UID
	part, reason, message string
}
