package clustertest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/views"
	"github.com/storagesim/storagesim/trace"
)

// Replay holds the writes and events of a run, to be sent once more to a server that has no controllers, caches or engine: that
// takes the time below which no run with these writes can come.
type Replay struct {
	steps          []step
	Writes, Events int
}

// step is one request, or else an event.
type step struct {
	at        time.Time
	req       api.Request
	actor     string
	event     trace.Event
	regarding runtime.Object
}

// ReplayOf returns the writes and events among the records of a run from its beginning. Writes that were refused are left out. An update has
// the version that the object then has, and a patch is made anew from the object before and after it.
func ReplayOf(records []trace.Entry) (*Replay, error) {
	r, known := &Replay{}, map[trace.Ref]runtime.Object{}
	for _, entry := range records {
		switch rec := entry.Record.(type) {
		case trace.Write:
			if rec.Err != nil || rec.Old == nil && rec.New == nil {
				continue
			}
			req, err := request(rec)
			if err != nil {
				return nil, err
			}
			if rec.New != nil {
				known[rec.About()] = rec.New
			}
			r.steps = append(r.steps, step{at: rec.Time, req: req})
			r.Writes++
		case trace.Event:
			if regarding := known[rec.About]; regarding != nil && !rec.Dropped {
				r.steps = append(r.steps, step{at: entry.Time, actor: entry.Actor, event: rec, regarding: regarding})
				r.Events++
			}
		}
	}
	return r, nil
}

// request returns a request that does what a write did.
func request(w trace.Write) (api.Request, error) {
	req := api.Request{Actor: w.Actor, Verb: w.Verb, Resource: w.Resource, Subresource: w.Subresource, Namespace: w.Namespace, Name: w.Name}
	var err error
	switch {
	case w.Verb == "delete" && w.New == nil:
		req.Delete.GracePeriodSeconds = new(int64)
	case w.Verb == "delete":
	case w.Subresource == "binding":
		req.Object = &v1.Binding{ObjectMeta: metav1.ObjectMeta{Name: w.Name}, Target: v1.ObjectReference{Kind: "Node", Name: w.New.(*v1.Pod).Spec.NodeName}}
	case w.Verb == "patch" && w.Old != nil:
		after := w.New
		if after == nil {
			after = w.Last
		}
		req.PatchType = types.StrategicMergePatchType
		req.Patch, err = patch(w.Old, after)
	case w.New == nil && w.Last == nil:
		return req, fmt.Errorf("a write that cannot be sent again: %s", w)
	case w.New == nil:
		req.Object = w.Last
	default:
		req.Object = w.New
	}
	return req, err
}

// patch returns a patch of one object to another, which leaves the fields out that the server sets.
func patch(before, after runtime.Object) ([]byte, error) {
	var texts [2][]byte
	for i, obj := range []runtime.Object{before, after} {
		var err error
		if texts[i], err = json.Marshal(free(obj)); err != nil {
			return nil, err
		}
	}
	if _, ok := after.(*unstructured.Unstructured); ok {
		return nil, errors.New("a custom resource is patched")
	}
	return strategicpatch.CreateTwoWayMergePatch(texts[0], texts[1], after)
}

// free returns a copy of an object that no other write need have come before.
func free(obj runtime.Object) runtime.Object {
	obj = obj.DeepCopyObject()
	meta := obj.(metav1.Object)
	meta.SetResourceVersion("")
	meta.SetUID("")
	meta.SetGeneration(0)
	return obj
}

// saying has the fields of an event that are the same when it is said again.
type saying struct {
	actor           string
	about           trace.Ref
	reason, message string
}

// counted returns the event of a step, which counts one more than the last one that said the same, nil if there was none.
func (s *step) counted(last *v1.Event, now metav1.Time) *v1.Event {
	if last != nil {
		again := *last
		again.Count, again.LastTimestamp = last.Count+1, now
		return &again
	}
	about, _ := views.ReferenceTo(s.regarding)
	return &v1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: cmp.Or(about.Namespace, metav1.NamespaceDefault)},
		InvolvedObject: about, Type: s.event.Type, Reason: s.event.Reason, Message: s.event.Message,
		Source: v1.EventSource{Component: s.actor}, ReportingController: s.actor, FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}
}

// object is the address of one.
type object struct {
	resource        schema.GroupVersionResource
	namespace, name string
}

// Play sends the writes to a new server, one after the other.
func (r *Replay) Play() error {
	var now time.Time
	server := api.NewServer(api.Config{Now: func() time.Time { return now }})
	ctx, versions, said := context.Background(), map[object]string{}, map[saying]*v1.Event{}
	for _, s := range r.steps {
		now = s.at
		if s.regarding != nil {
			of := saying{s.actor, s.event.About, s.event.Reason, s.event.Message}
			said[of] = server.RecordEvent(s.counted(said[of], metav1.NewTime(now)))
			continue
		}
		req := s.req
		about := object{req.Resource, req.Namespace, req.Name}
		if req.Object != nil {
			req.Object = free(req.Object) // the server keeps it
		}
		if req.Verb == "update" {
			req.Object.(metav1.Object).SetResourceVersion(versions[about])
		}
		answer, err := server.Do(ctx, req)
		if err != nil {
			return fmt.Errorf("%s %s/%s %s: %w", req.Verb, req.Resource.Resource, req.Subresource, req.Name, err)
		}
		if obj, ok := answer.(metav1.Object); ok {
			versions[about] = obj.GetResourceVersion()
		}
	}
	return nil
}

// BenchReplay measures the writes and events of runs, of one run after the other.
func BenchReplay(b *testing.B, runs ...[]trace.Entry) {
	var list []*Replay
	writes, events := 0, 0
	for _, records := range runs {
		r, err := ReplayOf(records)
		Must(b, err)
		list = append(list, r)
	}
	for i := 0; b.Loop(); i++ {
		r := list[i%len(list)]
		Must(b, r.Play())
		writes, events = writes+r.Writes, events+r.Events
	}
	b.ReportMetric(float64(writes)/float64(b.N), "writes/op")
	b.ReportMetric(float64(events)/float64(b.N), "events/op")
}
