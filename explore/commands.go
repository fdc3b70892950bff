package explore

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/trace"
)

// opening is the number of calls there had been when the user of a run acted first.
type opening struct{ firstCall, firstRPC, firstPoint int }

// openAt notes them at a user's first act.
func (r *recorded) openAt(c *storagesim.Cluster) {
	if r == nil || !r.plain {
		return
	}
	r.firstCall, r.firstPoint = len(r.calls), len(r.points)
	for _, entry := range c.Trace().Records() {
		if _, ok := entry.Record.(trace.RPC); ok {
			r.firstRPC++
		}
	}
}

// tell adds a story's commands to a failure.
func (x *exploration) tell(f *Failure) {
	f.Cluster, f.Commands, f.Untold = x.commands(f.Plan)
}

// commands returns the commands of a story (package story) that do what a plan does, in two parts: what
// stands behind its command "cluster", and what comes after that before the user acts first.
func (x *exploration) commands(plan Plan) (cluster string, faults []string, err error) {
	switch {
	case plan.Order != "" || plan.Seed != 0:
		return "", nil, errors.New("its order is by chance")
	case len(plan.Holds) > 0:
		return "", nil, errors.New("a cache falls behind in the middle of it")
	case slices.ContainsFunc(x.past, func(bug *UpstreamBug) bool { return bug.Mend != nil }):
		return "", nil, errors.New("a bug of Kubernetes by which the plain run fails is mended in it")
	}
	r := recorded{plain: true}
	_ = x.play(plan, &r) // it fails as it did
	for _, f := range plan.Faults {
		command, err := f.command(&r, plan.Faults)
		if err != nil {
			return "", nil, err
		}
		faults = append(faults, command)
	}
	cluster = "settle=round"
	if len(plan.Choices) > 0 {
		cluster = "choices=" + strings.Join(texts(plan.Choices, Choice.text), ",")
	}
	return cluster, faults, nil
}

// command returns the story's command that makes f strike where it struck in a recorded run, whose other faults are others.
func (f Fault) command(r *recorded, others []Fault) (string, error) {
	places, first := r.placesOf(f)
	calls := addressesOf(places)
	at := slices.IndexFunc(calls, func(c Call) bool { return c == f.Call })
	if f.Call.Actor == "" {
		at = min(f.Call.N, len(calls)) - 1
	}
	if at < first {
		return "", errors.New("a fault strikes before the user does anything, or nothing")
	}
	call, skip := calls[at], 0
	for i := first; i < at; i++ {
		if places[i] == places[at] && !strikes(others, i, calls[i], f) {
			skip++
		}
	}
	command := f.commandAt(call)
	if skip > 0 {
		command += fmt.Sprintf(" skip=%d", skip)
	}
	return command, nil
}

// strikes reports whether one of the faults strikes the call with that index at the same moment as f: it is
// then not counted.
func strikes(faults []Fault, i int, call Call, f Fault) bool {
	return slices.ContainsFunc(faults, func(other Fault) bool {
		same := other.Call == call || other.Call.Actor == "" && other.Call.N == i+1
		return same && other.target() == f.target() && (f.target() == authorPoints || other.after() == f.after())
	})
}

// after reports whether a fault strikes a call that is carried out.
func (f Fault) after() bool {
	return f.Kind == CrashAfter || f.Kind == Lost || f.Kind == CSILost || f.Kind == CSICrashAfter
}

// commandAt returns the story's command that makes the fault strike calls like this one.
func (f Fault) commandAt(call Call) string {
	if f.target() == authorPoints {
		effect := map[string]string{PointLost: " lost=yes", PointSlow: " delay=" + PointDelay.String(), PointCrash: " crash=yes",
			PointCrashAfter: " crash=yes when=after"}[f.Kind]
		return "fail-point " + call.Actor + " " + call.Verb + effect
	}
	calls := strings.TrimSpace(call.Verb + " " + call.Resource)
	switch f.Kind {
	case CrashBefore:
		return "crash " + call.Actor + " before " + calls
	case CrashAfter:
		return "crash " + call.Actor + " after " + calls
	case Refused:
		return "fail " + call.Actor + " " + calls
	case Conflict:
		return "fail " + call.Actor + " " + calls + " error=Conflict"
	case Lost:
		return "fail " + call.Actor + " " + calls + " lost=yes"
	}
	effect := map[string]string{
		CSIUnavailable: "error=Unavailable", CSILost: "lost=yes", CSIHang: "hang=yes", CSICrash: "crash=yes", CSICrashAfter: "crash=yes when=after",
	}[f.Kind]
	return "fail-csi any " + calls + " caller=" + call.Actor + " " + effect
}
