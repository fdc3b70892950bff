package cluster

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
	"github.com/storagesim/storagesim/internal/semantic"
)

// checkEvent validates an event of the core group.
// Upstream: core/validation legacyValidateEvent, v1.37.
func checkEvent(p *validation.Problems, e *v1.Event) { checkAnyEvent(p, e, "reportingComponent") }

// checkAnyEvent validates an event: it stands in the namespace of what it is about, and one with a time of its own says who reports what.
// reporter is the name of that field in the group of the request.
func checkAnyEvent(p *validation.Problems, e *v1.Event, reporter string) {
	const mismatch = "does not match event.namespace"
	about, at := e.InvolvedObject.Namespace, field.NewPath("involvedObject", "namespace")
	if e.EventTime.IsZero() {
		if about != e.Namespace && (about != "" || e.Namespace != v1.NamespaceDefault) {
			p.Invalid(at, about, mismatch)
		}
		return
	}
	if about == "" && e.Namespace != v1.NamespaceDefault && e.Namespace != "kube-system" {
		p.Invalid(at, about, mismatch)
	}
	if e.ReportingController == "" {
		p.Required(field.NewPath(reporter), "")
	}
	p.QualifiedName(e.ReportingController, field.NewPath(reporter))
	checkEventText(p, e.ReportingInstance, "reportingInstance", 128)
	checkEventText(p, e.Action, "action", 128)
	checkEventText(p, e.Reason, "reason", 128)
	if e.Message != "" {
		checkEventText(p, e.Message, "message", 1024)
	}
}

// checkEventText refuses a text that is missing or too long.
func checkEventText(p *validation.Problems, text, name string, most int) {
	switch at := field.NewPath(name); {
	case text == "":
		p.Required(at, "")
	case len(text) > most:
		p.Invalid(at, "", fmt.Sprintf("can have at most %d characters", most))
	}
}

// EventsV1 returns the validation of events of events.k8s.io, in the form of the core group: the rules there are stricter.
func EventsV1() validation.Kind {
	return validation.Typed[*v1.Event]{AnyFinalizer: true, MetaLast: true, Create: checkNewEventV1, Update: checkEventV1}.Kind()
}

// Upstream: core/validation ValidateEventCreate, v1.37.2.
func checkNewEventV1(p *validation.Problems, e *v1.Event) {
	checkAnyEvent(p, e, "reportingController")
	p.NewMeta(&e.ObjectMeta, validation.DNSSubdomain)
	checkEventSeries(p, e)
	if e.EventTime.IsZero() {
		p.Required(field.NewPath("eventTime"), "")
	}
	if e.Type != v1.EventTypeNormal && e.Type != v1.EventTypeWarning {
		p.Invalid(field.NewPath("type"), "", "has invalid value: "+e.Type)
	}
	for _, old := range [...]struct {
		name string
		set  bool
	}{
		{"firstTimestamp", !e.FirstTimestamp.IsZero()}, {"lastTimestamp", !e.LastTimestamp.IsZero()}, {"count", e.Count != 0},
		{"source", e.Source.Component != "" || e.Source.Host != ""},
	} {
		if old.set {
			p.Invalid(field.NewPath(old.name), "", "needs to be unset")
		}
	}
}

func checkEventSeries(p *validation.Problems, e *v1.Event) {
	if e.Series == nil {
		return
	}
	if e.Series.Count < 2 {
		p.Invalid(field.NewPath("series.count"), "", "should be at least 2")
	}
	if e.Series.LastObservedTime.IsZero() {
		p.Required(field.NewPath("series.lastObservedTime"), "")
	}
}

// checkEventV1 validates an update, in which only the series may change. Like upstream, it reports a changed reason twice.
// Upstream: core/validation ValidateEventUpdate, v1.37.2.
func checkEventV1(p *validation.Problems, e, old *v1.Event) {
	checkAnyEvent(p, e, "reportingController")
	p.FinalizerNames(&e.ObjectMeta)
	if !semantic.Equal(e.Series, old.Series) {
		checkEventSeries(p, e)
	}
	for _, f := range [...]struct {
		name    string
		is, was any
	}{
		{"involvedObject", e.InvolvedObject, old.InvolvedObject}, {"reason", e.Reason, old.Reason}, {"message", e.Message, old.Message},
		{"source", e.Source, old.Source}, {"firstTimestamp", e.FirstTimestamp, old.FirstTimestamp}, {"lastTimestamp", e.LastTimestamp, old.LastTimestamp},
		{"count", e.Count, old.Count}, {"reason", e.Reason, old.Reason}, {"type", e.Type, old.Type},
	} {
		p.Immutable(f.is, f.was, field.NewPath(f.name))
	}
	if !e.EventTime.Truncate(time.Microsecond).Equal(old.EventTime.Truncate(time.Microsecond)) {
		p.Immutable(e.EventTime, old.EventTime, field.NewPath("eventTime"))
	}
	p.Immutable(e.Action, old.Action, field.NewPath("action"))
	p.Immutable(e.Related, old.Related, field.NewPath("related"))
	p.Immutable(e.ReportingController, old.ReportingController, field.NewPath("reportingController"))
	p.Immutable(e.ReportingInstance, old.ReportingInstance, field.NewPath("reportingInstance"))
}
