package api

import (
	"context"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/storagesim/storagesim/api/internal/validation/cluster"
	"github.com/storagesim/storagesim/api/views"
)

// Events of events.k8s.io/v1 are events of v1 in another form: there is one store, and an event
// written as one can be read as the other.

// isEventsV1 reports whether a request is about events in that form.
func isEventsV1(t *tables, req *Request) bool {
	if req.Resource != eventsv1.SchemeGroupVersion.WithResource("events") {
		return false
	}
	_, known := t.registry.Lookup(req.Resource)
	return known
}

// doEventsV1 carries out a request for events of events.k8s.io/v1, whose rules are stricter than those of the core group.
func doEventsV1(ctx context.Context, s *Server, req Request) (runtime.Object, error) {
	form, _ := s.tables.registry.Lookup(req.Resource)
	req, err := views.InCoreForm(req)
	if err != nil {
		return nil, err
	}
	core, ok := s.tables.registry.Lookup(views.Events)
	if !ok {
		return nil, unknownResource(views.Events)
	}
	strict := *core
	strict.Validation = cluster.EventsV1()
	obj, err := serve(ctx, s, req, &strict, form)
	if err != nil {
		return nil, views.OfEventsV1(err)
	}
	return views.EventsV1Form(obj), nil
}

// watchEventsV1 begins a watch of events of events.k8s.io/v1.
func watchEventsV1(ctx context.Context, h Handler, req Request) (watch.Interface, error) {
	req, err := views.InCoreForm(req)
	if err != nil {
		return nil, err
	}
	events, err := h.Watch(ctx, req)
	if err != nil {
		return nil, err
	}
	return watch.Filter(events, func(e watch.Event) (watch.Event, bool) {
		e.Object = views.EventsV1Form(e.Object)
		return e, true
	}), nil
}
