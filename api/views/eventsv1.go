package views

import (
	"errors"
	"strings"

	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/api/internal/call"
)

// OfEventsV1 returns an error about an event with the group of the request.
func OfEventsV1(err error) error {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || status.ErrStatus.Details == nil || status.ErrStatus.Details.Kind != Events.Resource {
		return err
	}
	told := *status
	details := *told.ErrStatus.Details
	details.Group = eventsv1.GroupName
	told.ErrStatus.Details = &details
	told.ErrStatus.Message = strings.Replace(told.ErrStatus.Message, "events ", "events."+eventsv1.GroupName+" ", 1)
	return &told
}

// eventsV1Fields holds the selectable fields that have another name in v1.
// Upstream: apis/events/v1 AddFieldLabelConversionsForEvent, v1.37.
var eventsV1Fields = map[string]string{
	"regarding.kind": "involvedObject.kind", "regarding.namespace": "involvedObject.namespace", "regarding.name": "involvedObject.name",
	"regarding.uid": "involvedObject.uid", "regarding.apiVersion": "involvedObject.apiVersion",
	"regarding.resourceVersion": "involvedObject.resourceVersion", "regarding.fieldPath": "involvedObject.fieldPath",
	"reportingController": "reportingComponent",
}

// InCoreForm returns the same request for events of v1.
func InCoreForm(req call.Request) (call.Request, error) {
	req.Resource, req.Shared = Events, false // the answer is another object anyway
	if req.Object != nil {
		event, ok := req.Object.(*eventsv1.Event)
		if !ok {
			return req, apierrors.NewBadRequest("the object is no Event of events.k8s.io/v1")
		}
		req.Object = CoreForm(event)
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

// CoreFormOf returns an event of events.k8s.io/v1 as one of v1, and any other object unchanged.
func CoreFormOf(obj call.Object) call.Object {
	if event, ok := obj.(*eventsv1.Event); ok {
		return CoreForm(event)
	}
	return obj
}

// CoreForm returns an event of events.k8s.io/v1 as one of v1.
// Upstream: apis/events/v1 Convert_v1_Event_To_core_Event, v1.37.
func CoreForm(in *eventsv1.Event) *v1.Event {
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

// EventsV1Form returns an event or a list of events of v1 in the form of events.k8s.io/v1, the status of a deleted one with its group, and
// anything else unchanged.
// Upstream: apis/events/v1 Convert_core_Event_To_v1_Event, v1.37.
func EventsV1Form(obj runtime.Object) runtime.Object {
	switch in := obj.(type) {
	case *metav1.Status:
		if in.Details != nil && in.Details.Kind == Events.Resource {
			out := in.DeepCopy()
			out.Details.Group = eventsv1.GroupName
			return out
		}
	case *v1.EventList:
		out := &eventsv1.EventList{ListMeta: in.ListMeta}
		for i := range in.Items {
			out.Items = append(out.Items, *EventsV1Form(&in.Items[i]).(*eventsv1.Event))
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
