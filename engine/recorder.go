package engine

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/api/views"
	"github.com/storagesim/storagesim/internal/bounded"
	"github.com/storagesim/storagesim/trace"
)

// recorder records API events at once, without a yield point: upstream's
// broadcaster does it in the background, and no controller's logic depends on it.
type recorder struct {
	env       *env
	component string
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
	e, a := r.env.engine(), r.env.actor
	host := ""
	if component, node, ok := strings.Cut(a.name, "/"); ok && component == r.component {
		host = node // "kubelet/node-1"
	}
	ref, ok := views.ReferenceTo(obj)
	if !ok {
		return
	}
	e.server.Event(a.name, r.component, host, &ref, eventtype, reason, message)
	a.said(ref, eventtype, reason, message)
}

// said notes an event in the trace.
func (a *actor) said(of v1.ObjectReference, eventtype, reason, message string) {
	e, about := a.engine, trace.Ref{Kind: of.Kind, Namespace: of.Namespace, Name: of.Name}
	key := saidKey{a.name, of.UID, of.FieldPath, reason, message}
	e.mu.Lock()
	repeated := e.said[key]
	if !repeated {
		e.said[key] = true
	}
	e.mu.Unlock()
	e.record(a.name, trace.Event{About: about, Type: eventtype, Reason: reason, Message: message, Repeated: repeated})
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
