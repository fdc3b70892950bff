package conformance

import (
	"slices"
	"strings"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/trace"
)

// along knows the controllers' requests in one step of the recording, refused ones included, and which of them the replay has had. A schedule
// that goes along prefers the actor of the next one, so that the same one often wins a race.
type along struct {
	requests []request
	passed   int // how many have come before the next one
}

// request is one request of a controller.
type request struct {
	actor, verb, object, sub string
	refused                  bool
}

// requestsOf returns the requests in a step of those actors that there are here. Recordings have them in the order in which they came. A write that
// lost a race may have come before the one that won it: here it comes after.
func requestsOf(step Step, simulated func(actor string) bool) (list []request) {
	for _, e := range step.Writes {
		if e.Event != "" || e.Actor == storagesim.User || !simulated(e.Actor) {
			continue
		}
		resource, sub, _ := strings.Cut(e.Resource, "/")
		list = append(list, request{e.Actor, e.Verb, resource + " " + e.Name, sub, e.Code >= 400})
	}
	for i, r := range slices.Backward(list) {
		next := slices.IndexFunc(list[i+1:], func(o request) bool { return o.object == r.object && !o.refused })
		if r.refused && next >= 0 && list[i+1+next].actor != r.actor {
			list = slices.Insert(slices.Delete(list, i, i+1), i+1+next, r)
		}
	}
	return list
}

// patient is the number of later requests that the next one may let pass. It is then given up: some change nothing, and are not made here.
const patient = 5

// made takes a request off the list, if it is there.
func (a *along) made(w trace.Write, object string) {
	i := slices.Index(a.requests, request{recordedActor(w.Actor), w.Verb, object, w.Subresource, w.Err != nil})
	if i < 0 {
		return
	}
	a.requests = slices.Delete(a.requests, i, i+1)
	if a.passed++; i == 0 {
		a.passed = 0
	} else if a.passed > patient {
		a.requests, a.passed = a.requests[1:], 0
	}
}

// soon is the number of requests after the next one whose actors are to wait for it.
const soon = 4

// prefer returns the alternatives of the actor whose request is next, and whether there are any: if that request was refused, since the actor had not
// received a change, the alternatives in which it receives nothing. Otherwise it returns the alternatives of all actors without a request soon: one of them
// may have to do something first. It returns none if no request is left.
func (a *along) prefer(n int, of func(i int) engine.Alternative) (list []int, own bool) {
	if len(a.requests) == 0 {
		return nil, false
	}
	next := a.requests[0]
	var hears, others []int
	for i := range n {
		alternative := of(i)
		switch actor := recordedActor(alternative.Actor); {
		case actor == next.actor && next.refused && alternative.Hears != "":
			hears = append(hears, i)
		case actor == next.actor:
			list = append(list, i)
		case !slices.ContainsFunc(a.requests[:min(soon, len(a.requests))], func(r request) bool { return r.actor == actor }):
			others = append(others, i)
		}
	}
	switch {
	case len(list) > 0:
		return list, true
	case len(hears) > 0:
		return hears, true
	}
	return others, false
}
