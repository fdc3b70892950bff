package remote

import (
	"context"
	"fmt"
	"os"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"

	"github.com/storagesim/storagesim/api/views"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/trace"
)

// broadcasters write events in the background, as upstream's controllers have them written.
type broadcasters struct {
	core record.EventBroadcaster
	v1   events.EventBroadcaster
	host string
}

func newBroadcasters(ctx context.Context, client kubernetes.Interface) *broadcasters {
	b := &broadcasters{core: record.NewBroadcaster(record.WithContext(ctx)), v1: events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})}
	b.host, _ = os.Hostname() // events may lack it
	b.core.StartRecordingToSink(&corev1.EventSinkImpl{Interface: client.CoreV1().Events(v1.NamespaceAll)})
	_ = b.v1.StartRecordingToSinkWithContext(ctx) // fails for a nil sink only
	return b
}

func (b *broadcasters) shutdown() {
	b.core.Shutdown()
	b.v1.Shutdown()
}

// Recorder implements control.Env.
func (v *env) Recorder(component string) control.Recorder {
	host := v.events.host
	if own, node, ok := strings.Cut(v.name, "/"); ok && own == component {
		host = node // "kubelet/node-1"
	}
	return &recorder{v.process, v.events.core.NewRecorder(scheme.Scheme, v1.EventSource{Component: component, Host: host})}
}

// recorder records events of core/v1 and tells of them.
type recorder struct {
	process *process
	record.EventRecorder
}

// Event implements control.Recorder.
func (r *recorder) Event(obj runtime.Object, eventtype, reason, message string) {
	r.EventRecorder.Event(obj, eventtype, reason, message)
	r.process.said(obj, eventtype, reason, message)
}

// Eventf implements control.Recorder.
func (r *recorder) Eventf(obj runtime.Object, eventtype, reason, format string, args ...any) {
	r.Event(obj, eventtype, reason, fmt.Sprintf(format, args...))
}

// EventRecorder implements control.Env.
func (v *env) EventRecorder(reportingController string) control.EventRecorder {
	return &eventRecorder{v.process, v.events.v1.NewRecorder(scheme.Scheme, reportingController)}
}

// eventRecorder records events of events.k8s.io/v1 and tells of them.
type eventRecorder struct {
	process *process
	events.EventRecorder
}

// Eventf implements control.EventRecorder.
func (r *eventRecorder) Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any) {
	r.EventRecorder.Eventf(regarding, related, eventtype, reason, action, note, args...)
	r.process.said(regarding, eventtype, reason, fmt.Sprintf(note, args...))
}

// saidKey finds events that were told of.
type saidKey struct {
	about           v1.ObjectReference
	reason, message string
}

// manySaid is the number of events that are remembered as told.
const manySaid = 10_000

// said tells of an event.
func (p *process) said(obj runtime.Object, eventtype, reason, message string) {
	about, ok := views.ReferenceTo(obj)
	if !ok {
		return
	}
	if len(p.told) >= manySaid {
		clear(p.told)
	}
	key := saidKey{about, reason, message}
	p.run.tell(p.name, trace.Event{
		About: trace.Ref{Kind: about.Kind, Namespace: about.Namespace, Name: about.Name},
		Type:  eventtype, Reason: reason, Message: message, Repeated: p.told[key],
	})
	p.told[key] = true
}
