package explore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/trace"
)

// opening is the number of calls there had been when the user of a run acted first.
type opening struct{ firstCall, firstRPC int }

// openAt notes them at a user's first act.
func (r *recorded) openAt(c *storagesim.Cluster) {
	if r == nil || !r.plain {
		return
	}
	r.firstCall = len(r.calls)
	for _, entry := range c.Records() {
		if _, ok := entry.Record.(trace.RPC); ok {
			r.firstRPC++
		}
	}
}

// tell adds a story's commands to a failure.
func (x *exploration) tell(f *Failure) {
	f.Cluster, f.Commands, f.Untold = x.commands(f.Plan)
}

// commands returns those of a story (package story) that do what a plan does, in two parts: what
// stands behind its command "cluster", and what comes after that before the user acts first.
func (x *exploration) commands(plan Plan) (cluster string, trouble []string, err error) {
	switch {
	case plan.Order != "" || plan.Seed != 0:
		return "", nil, errors.New("its order is by chance")
	case len(plan.Holds) > 0:
		return "", nil, errors.New("a cache falls behind in the middle of it")
	}
	r := recorded{plain: true}
	_ = x.play(plan, &r) // it fails as it did
	for _, f := range plan.Faults {
		command, err := f.command(&r, plan.Faults)
		if err != nil {
			return "", nil, err
		}
		trouble = append(trouble, command)
	}
	cluster = "settle=round"
	if len(plan.Choices) > 0 {
		cluster = "choices=" + strings.Join(texts(plan.Choices, Choice.text), ",")
	}
	return cluster, trouble, nil
}

// command returns that of a fault in a run, which has others, too.
func (f Fault) command(r *recorded, others []Fault) (string, error) {
	places, first := r.calls, r.firstCall
	if f.isCSI() {
		places, first = r.rpcs, r.firstRPC
	}
	if f.Call <= first || f.Call > len(places) {
		return "", errors.New("a fault strikes before the user does anything")
	}
	place, skip := places[f.Call-1], 0
	for i := first; i < f.Call-1; i++ {
		if places[i] == place && !strikes(others, i+1, f) {
			skip++
		}
	}
	words := strings.Split(place, " ")
	command := f.text(words)
	if skip > 0 {
		command += fmt.Sprintf(" skip=%d", skip)
	}
	return command, nil
}

// strikes reports whether one of the faults strikes that call at the same moment as f: it is
// then not counted.
func strikes(faults []Fault, call int, f Fault) bool {
	for _, other := range faults {
		if other.Call == call && other.isCSI() == f.isCSI() && other.after() == f.after() {
			return true
		}
	}
	return false
}

// after reports whether a fault strikes a call that is carried out.
func (f Fault) after() bool {
	return f.Kind == CrashAfter || f.Kind == Lost || f.Kind == CSILost || f.Kind == CSICrashAfter
}

// text returns the command for calls that a place names: "actor verb resource", or for those to
// drivers "actor method".
func (f Fault) text(place []string) string {
	calls := strings.Join(place[1:], " ")
	switch f.Kind {
	case CrashBefore:
		return "crash " + place[0] + " before " + calls
	case CrashAfter:
		return "crash " + place[0] + " after " + calls
	case Refused:
		return "fail " + place[0] + " " + calls
	case Conflict:
		return "fail " + place[0] + " " + calls + " error=Conflict"
	case Lost:
		return "fail " + place[0] + " " + calls + " lost=yes"
	}
	effect := map[string]string{
		CSIUnavailable: "error=Unavailable", CSILost: "lost=yes", CSIHang: "hang=yes", CSICrash: "crash=yes", CSICrashAfter: "crash=yes when=after",
	}[f.Kind]
	return "fail-csi any " + calls + " caller=" + place[0] + " " + effect
}
