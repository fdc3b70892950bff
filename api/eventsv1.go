package api

import (
	"context"
	"errors"
	"strings"

	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/storagesim/storagesim/api/internal/validation"
)

// Events of events.k8s.io/v1 are events of v1 in another form: there is one store, and an event
// written as one can be read as the other.

// isEventsV1 reports whether a request is about events in that form.
func (s *Server) isEventsV1(req *Request) bool {
	if req.Resource != eventsv1.SchemeGroupVersion.WithResource("events") {
		return false
	}
	_, known := s.cfg.Registry.at(req.Resource)
	return known
}

// doEventsV1 carries out a request for events of events.k8s.io/v1.
func (s *Server) doEventsV1(ctx context.Context, req Request) (runtime.Object, error) {
	req, err := inCoreForm(req)
	if err != nil {
		return nil, err
	}
	if req.Verb == "patch" {
		return s.patchEventsV1(ctx, req)
	}
	if err := s.strictly(&req); err != nil {
		return nil, err
	}
	obj, err := s.Do(ctx, req)
	if err != nil {
		return nil, ofEventsV1(err)
	}
	return eventsV1Form(obj), nil
}

// strictly refuses what the rules of events.k8s.io do not allow, and those of the core group do.
func (s *Server) strictly(req *Request) error {
	k, _ := s.cfg.Registry.at(events)
	r := &request{actor: req.Actor, verb: req.Verb, kind: k, namespace: req.Namespace, name: req.ObjectName()}
	var errs field.ErrorList
	switch req.Verb {
	case "create":
		if event, ok := req.Object.(*v1.Event); ok && event.Namespace == "" {
			event.Namespace = req.Namespace
		}
		errs = validation.NewEvent(req.Object)
	case "update":
		if old := s.stored(r); old != nil {
			errs = validation.ChangedEvent(req.Object, old)
		}
	}
	if len(errs) > 0 {
		return s.refuse(r, r.invalid(errs))
	}
	return nil
}

// ofEventsV1 returns an error about an event with the group of the request.
func ofEventsV1(err error) error {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || status.ErrStatus.Details == nil || status.ErrStatus.Details.Kind != events.Resource {
		return err
	}
	told := *status
	details := *told.ErrStatus.Details
	details.Group = eventsv1.GroupName
	told.ErrStatus.Details = &details
	told.ErrStatus.Message = strings.Replace(told.ErrStatus.Message, "events ", "events."+eventsv1.GroupName+" ", 1)
	return &told
}

// watchEventsV1 begins a watch of events of events.k8s.io/v1.
func (s *Server) watchEventsV1(ctx context.Context, req Request) (watch.Interface, error) {
	req, err := inCoreForm(req)
	if err != nil {
		return nil, err
	}
	w, err := s.Watch(ctx, req)
	if err != nil {
		return nil, err
	}
	return watch.Filter(w, func(e watch.Event) (watch.Event, bool) {
		e.Object = eventsV1Form(e.Object)
		return e, true
	}), nil
}

// patchEventsV1 changes an event in the form that the patch is written for, and stores it if
// it was not written meanwhile.
func (s *Server) patchEventsV1(ctx context.Context, req Request) (runtime.Object, error) {
	k, _ := s.cfg.Registry.at(eventsv1.SchemeGroupVersion.WithResource("events"))
	if req.PatchType == types.ApplyPatchType {
		return nil, apierrors.NewMethodNotSupported(k.gvr.GroupResource(), "apply")
	}
	r := &request{actor: req.Actor, verb: req.Verb, kind: k, namespace: req.Namespace, name: req.Name}
	for {
		get := req
		get.Verb = "get"
		old, err := s.Do(ctx, get)
		if err != nil {
			return nil, ofEventsV1(err)
		}
		obj, err := r.patched(eventsV1Form(old).(object), req.PatchType, req.Patch)
		if err != nil {
			return nil, err
		}
		update := req
		update.Verb, update.PatchType, update.Patch, update.Object = "update", "", nil, coreForm(obj.(*eventsv1.Event))
		if err := s.strictly(&update); err != nil {
			return nil, err
		}
		answer, err := s.Do(ctx, update)
		if apierrors.IsConflict(err) && obj.GetResourceVersion() == old.(object).GetResourceVersion() {
			continue
		}
		if err != nil {
			return nil, ofEventsV1(err)
		}
		return eventsV1Form(answer), nil
	}
}

// eventsV1Fields holds the selectable fields that have another name in v1.
// Upstream: apis/events/v1 AddFieldLabelConversionsForEvent, v1.37.
var eventsV1Fields = map[string]string{
	"regarding.kind": "involvedObject.kind", "regarding.namespace": "involvedObject.namespace", "regarding.name": "involvedObject.name",
	"regarding.uid": "involvedObject.uid", "regarding.apiVersion": "involvedObject.apiVersion",
	"regarding.resourceVersion": "involvedObject.resourceVersion", "regarding.fieldPath": "involvedObject.fieldPath",
	"reportingController": "reportingComponent",
}

// inCoreForm returns the same request for events of v1.
func inCoreForm(req Request) (Request, error) {
	req.Resource, req.Shared = events, false // the answer is another object anyway
	if req.Object != nil {
		event, ok := req.Object.(*eventsv1.Event)
		if !ok {
			return req, apierrors.NewBadRequest("the object is no Event of events.k8s.io/v1")
		}
		req.Object = coreForm(event)
	}
	if req.List.FieldSelector == "" {
		return req, nil
	}
	selector, err := fields.ParseAndTransformSelector(req.List.FieldSelector, func(field, value string) (string, string, error) {
		if core, ok := eventsV1Fields[field]; ok {
			field = core
		}
		return field, value, nil
	})
	if err != nil {
		return req, apierrors.NewBadRequest(err.Error())
	}
	req.List.FieldSelector = selector.String()
	return req, nil
}

// coreForm returns an event of events.k8s.io/v1 as one of v1.
// Upstream: apis/events/v1 Convert_v1_Event_To_core_Event, v1.37.
func coreForm(in *eventsv1.Event) *v1.Event {
	out := &v1.Event{
		ObjectMeta: in.ObjectMeta, InvolvedObject: in.Regarding, Related: in.Related,
		Type: in.Type, Reason: in.Reason, Action: in.Action, Message: in.Note,
		EventTime: in.EventTime, ReportingController: in.ReportingController, ReportingInstance: in.ReportingInstance,
		Source: in.DeprecatedSource, FirstTimestamp: in.DeprecatedFirstTimestamp, LastTimestamp: in.DeprecatedLastTimestamp, Count: in.DeprecatedCount,
	}
	if in.Series != nil {
		out.Series = &v1.EventSeries{Count: in.Series.Count, LastObservedTime: in.Series.LastObservedTime}
	}
	return out
}

// eventsV1Form returns an event or a list of events of v1 in the form of events.k8s.io/v1, and
// anything else unchanged.
// Upstream: apis/events/v1 Convert_core_Event_To_v1_Event, v1.37.
func eventsV1Form(obj runtime.Object) runtime.Object {
	switch in := obj.(type) {
	case *v1.EventList:
		out := &eventsv1.EventList{ListMeta: in.ListMeta}
		for i := range in.Items {
			out.Items = append(out.Items, *eventsV1Form(&in.Items[i]).(*eventsv1.Event))
		}
		return out
	case *v1.Event:
		out := &eventsv1.Event{
			ObjectMeta: in.ObjectMeta, Regarding: in.InvolvedObject, Related: in.Related,
			Type: in.Type, Reason: in.Reason, Action: in.Action, Note: in.Message,
			EventTime: in.EventTime, ReportingController: in.ReportingController, ReportingInstance: in.ReportingInstance,
			DeprecatedSource: in.Source, DeprecatedFirstTimestamp: in.FirstTimestamp, DeprecatedLastTimestamp: in.LastTimestamp, DeprecatedCount: in.Count,
		}
		if in.Series != nil {
			out.Series = &eventsv1.EventSeries{Count: in.Series.Count, LastObservedTime: in.Series.LastObservedTime}
		}
		return out
	}
	return obj
}
