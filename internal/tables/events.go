package tables

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Events prints what `kubectl events` prints: the events in order of time, those
// about one object only if ref is set.
func (v View) Events(w io.Writer, o Options, ref *Ref) error {
	var list []*v1.Event
	for _, e := range all[*v1.Event](v) {
		switch {
		case ref != nil && (e.InvolvedObject.Kind != ref.Resource.Kind || e.InvolvedObject.Name != ref.Name || e.InvolvedObject.Namespace != ref.Namespace):
		case ref == nil && !o.AllNamespaces && e.Namespace != o.namespace():
		default:
			list = append(list, e)
		}
	}
	if len(list) == 0 {
		if o.AllNamespaces {
			_, err := fmt.Fprintln(w, "No events found.")
			return err
		}
		_, err := fmt.Fprintf(w, "No events found in %s namespace.\n", o.namespace())
		return err
	}
	sortByTime(list)
	out := v.aligned(w, 6, 4, 3)
	namespace := func(ns string) string {
		if o.AllNamespaces {
			return ns + "\t"
		}
		return ""
	}
	if !o.NoHeaders {
		fmt.Fprintf(out, "%sLAST SEEN\tTYPE\tREASON\tOBJECT\tMESSAGE\n", namespace("NAMESPACE"))
	}
	for _, e := range list {
		fmt.Fprintf(out, "%s%s\t%s\t%s\t%s/%s\t%s\n", namespace(e.Namespace), interval(e, v.Now), e.Type, e.Reason,
			e.InvolvedObject.Kind, e.InvolvedObject.Name, firstLine(strings.TrimSpace(e.Message)))
	}
	return out.Flush()
}

// sortByTime puts the last seen last.
func sortByTime(list []*v1.Event) {
	slices.SortStableFunc(list, func(a, b *v1.Event) int { return lastSeen(a).Compare(lastSeen(b)) })
}

func lastSeen(e *v1.Event) time.Time {
	if e.Series != nil {
		return e.Series.LastObservedTime.Time
	}
	return cmp.Or(e.LastTimestamp.Time, e.EventTime.Time)
}

// interval says when an event was last seen, how often, and since when.
func interval(e *v1.Event, now time.Time) string {
	first := since(cmp.Or(e.EventTime.Time, e.FirstTimestamp.Time), now)
	switch {
	case e.Series != nil:
		return fmt.Sprintf("%s (x%d over %s)", since(e.Series.LastObservedTime.Time, now), e.Series.Count, first)
	case e.Count > 1:
		return fmt.Sprintf("%s (x%d over %s)", since(e.LastTimestamp.Time, now), e.Count, first)
	}
	return first
}
