package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/storagesim/storagesim/internal/prose"
)

// NotReached is the error of Replay for a line that does not fit the scenario: a part of it addresses what the run did
// not do, and the run did not fail. So it does not show that a failure is mended.
type NotReached struct { // says what a plan misses
	// Plan is that of the line.
	Plan Plan
	// Missing has a sentence for each part that was not reached, with the nearest one that would be.
	Missing []string
}

func (n *NotReached) Error() string {
	return fmt.Sprintf("the replay line does not fit this scenario: %s", strings.Join(n.Missing, "; "))
}

// missing returns the parts of a plan that a run did not reach.
func (r *recorded) missing(plan Plan) (list []string) {
	for _, f := range plan.Faults {
		places, _ := r.placesOf(f)
		what := "call"
		if f.target() == authorPoints {
			what = "point"
		}
		list = append(list, f.Call.missing("fault "+f.text(), what, places)...)
	}
	for _, h := range plan.Holds {
		if missing := h.From.missing("hold "+h.text(), "call", r.calls); len(missing) > 0 {
			list = append(list, missing...)
			continue
		}
		if !slices.ContainsFunc(r.follows, func(f Hold) bool { return f.Actor == h.Actor && f.Resource == h.Resource }) {
			list = append(list, fmt.Sprintf("hold %s: there is no cache of %s in %s%s", h.text(), h.Resource, h.Actor, r.nearestCache(h)))
		}
	}
	for _, c := range plan.Choices {
		if c.At >= r.choices {
			list = append(list, fmt.Sprintf("choice %s: the run had %d choices; choices are positions, and fit the version and the scenario that they were found with",
				c.text(), r.choices))
		}
	}
	return list
}

// placesOf returns the places that a fault can strike, and how many there were before the user acted.
func (r *recorded) placesOf(f Fault) (places []string, first int) {
	switch f.target() {
	case driverCalls:
		return r.rpcs, r.firstRPC
	case authorPoints:
		return r.points, r.firstPoint
	}
	return r.calls, r.firstCall
}

// missing returns a sentence if a run with calls (what) of these places has no such call.
func (c Call) missing(part, what string, places []string) []string {
	count := len(places)
	if c.Actor != "" {
		count = 0
		for _, place := range places {
			if place == c.place() {
				count++
			}
		}
	}
	if c.N <= count {
		return nil
	}
	nearest := c
	if nearest.N = count; count == 0 {
		at := slices.Index(places, prose.Nearest(c.place(), slices.Compact(slices.Sorted(slices.Values(places)))))
		if at < 0 {
			return []string{fmt.Sprintf("%s: there is no such %s", part, what)}
		}
		nearest = addressesOf(places)[at]
	}
	calls := "such " + what + "s"
	if c.Actor == "" {
		calls = what + "s"
	}
	return []string{fmt.Sprintf("%s: there are %d %s; the nearest is %s", part, count, calls, nearest.text())}
}

// nearestCache suggests another cache than one that is not there.
func (r *recorded) nearestCache(h Hold) string {
	var known []string
	for _, f := range r.follows {
		known = append(known, f.Actor+":"+f.Resource)
	}
	return prose.DidYouMean(h.Actor+":"+h.Resource, known)
}
