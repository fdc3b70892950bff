package api

import (
	"context"

	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/validation/cluster"
	"github.com/storagesim/storagesim/api/patch"
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

// doEventsV1 carries out a request for events of events.k8s.io/v1.
func doEventsV1(ctx context.Context, h Handler, w *writer, req Request) (runtime.Object, error) {
	req, err := views.InCoreForm(req)
	if err != nil {
		return nil, err
	}
	if req.Verb == "patch" {
		return patchEventsV1(ctx, h, w, req)
	}
	if err := strictly(w, &req); err != nil {
		return nil, err
	}
	obj, err := h.Do(ctx, req)
	if err != nil {
		return nil, views.OfEventsV1(err)
	}
	return views.EventsV1Form(obj), nil
}

// strictly refuses what the rules of events.k8s.io do not allow, and those of the core group do.
func strictly(w *writer, req *Request) error {
	k, _ := w.tables.registry.Lookup(views.Events)
	r := request{actor: req.Actor, verb: req.Verb, kind: k, namespace: req.Namespace, name: req.ObjectName()}
	var errs field.ErrorList
	switch req.Verb {
	case "create":
		if event, ok := req.Object.(*v1.Event); ok && event.Namespace == "" {
			event.Namespace = req.Namespace
		}
		errs = cluster.NewEvent(req.Object)
	case "update":
		if old := w.tables.stored(r); old != nil {
			errs = cluster.ChangedEvent(req.Object, old)
		}
	}
	if len(errs) > 0 {
		return w.reports.refuse(r, r.invalid(errs))
	}
	return nil
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

// patchEventsV1 changes an event in the form that the patch is written for, and stores it if
// it was not written meanwhile.
func patchEventsV1(ctx context.Context, h Handler, w *writer, req Request) (runtime.Object, error) {
	k, _ := w.tables.registry.Lookup(eventsv1.SchemeGroupVersion.WithResource("events"))
	if req.PatchType == types.ApplyPatchType {
		return nil, apierrors.NewMethodNotSupported(k.GVR.GroupResource(), "apply")
	}
	target := patch.Target{Kind: k, Namespace: req.Namespace, Name: req.Name}
	for {
		get := req
		get.Verb = "get"
		old, err := h.Do(ctx, get)
		if err != nil {
			return nil, views.OfEventsV1(err)
		}
		obj, err := target.Patched(views.EventsV1Form(old).(call.Object), req.PatchType, req.Patch)
		if err != nil {
			return nil, err
		}
		update := req
		update.Verb, update.PatchType, update.Patch, update.Object = "update", "", nil, views.CoreForm(obj.(*eventsv1.Event))
		if err := strictly(w, &update); err != nil {
			return nil, err
		}
		answer, err := h.Do(ctx, update)
		if apierrors.IsConflict(err) && obj.GetResourceVersion() == old.(call.Object).GetResourceVersion() && obj.GetUID() == old.(call.Object).GetUID() {
			continue
		}
		if err != nil {
			return nil, views.OfEventsV1(err)
		}
		return views.EventsV1Form(answer), nil
	}
}
