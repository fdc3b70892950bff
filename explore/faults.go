package explore

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/csi/socket"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/trace"
)

// The kinds of faults of calls at the API server.
const (
	// CrashBefore ends the caller's process before the call is made, CrashAfter when the
	// server has carried it out. It starts again at once.
	CrashBefore, CrashAfter = "crash", "crash-after"
	// Refused: the server answers with an internal error and does nothing.
	Refused = "refused"
	// Conflict: the server answers an update as if the object had changed, and does nothing.
	Conflict = "conflict"
	// Lost: the server carries the call out, and the caller gets an error instead of the answer.
	Lost = "lost"
)

// The kinds of faults of calls to CSI drivers.
const (
	// CSIUnavailable: the driver does not get the call. CSILost: it carries the call out, and the caller gets an error.
	CSIUnavailable, CSILost = "csi-unavailable", "csi-lost"
	// CSICrash ends the driver's process before it gets the call, CSICrashAfter when it has
	// carried the call out. It starts again at once, with its memory.
	CSICrash, CSICrashAfter = "csi-crash", "csi-crash-after"
	// CSIHang: the driver never answers, and the caller gives up.
	CSIHang = "csi-hang"
)

// The kinds of faults at points that the author's code marks (package mayfail).
const (
	// PointError: the code gets an error, and the function of the point is not called.
	PointError = "point-error"
	// PointLost: the function is called, and the code gets an error instead of its answer.
	PointLost = "point-lost"
	// PointSlow lets PointDelay pass before the function is called.
	PointSlow = "point-slow"
	// PointCrash ends the process before the function is called, PointCrashAfter when it has returned. The process starts again at once.
	PointCrash, PointCrashAfter = "point-crash", "point-crash-after"
)

// PointDelay is the virtual time of a PointSlow: more than the 10 s for which csi-provisioner, and the 15 s for which
// csi-attacher, wait for a driver.
const PointDelay = 20 * time.Second

// FaultKinds returns the names of all kinds of faults.
func FaultKinds() []string {
	return []string{
		CrashBefore, CrashAfter, Refused, Conflict, Lost, CSIUnavailable, CSILost, CSICrash, CSICrashAfter, CSIHang,
		PointError, PointLost, PointSlow, PointCrash, PointCrashAfter,
	}
}

// apiKinds returns the kinds of faults that strike calls at the API server.
func apiKinds() []string { return FaultKinds()[:5] }

// target is the kind of operations that a fault strikes.
type target int

const (
	apiCalls target = iota
	driverCalls
	authorPoints
)

func (f Fault) target() target {
	switch {
	case strings.HasPrefix(f.Kind, "csi-"):
		return driverCalls
	case strings.HasPrefix(f.Kind, "point-"):
		return authorPoints
	}
	return apiCalls
}

// trouble holds what a plan does to one run: its faults, and its holds, which let caches fall behind. Where only one of the two is meant,
// it is called fault or hold.
type trouble struct {
	c      *storagesim.Cluster
	faults []struckFault
	holds  []startedHold
	over   bool
}

// struckFault is a fault with the number of the calls that it addresses so far.
type struckFault struct {
	Fault
	calls int
}

// strikes reports whether it strikes the call that was counted last.
func (f *struckFault) strikes() bool { return f.calls >= f.Call.N && f.calls <= f.last() }

// startedHold is a cache that falls behind, with the number of the calls of its From so far.
type startedHold struct {
	Hold
	calls int
}

// newTrouble lets the faults and holds of a plan strike the cluster from now on, if call is told of each call to the API server.
func newTrouble(c *storagesim.Cluster, plan Plan) (*trouble, error) {
	t := &trouble{c: c}
	passed := map[Fault]int{} // faults of drivers' calls so far, by what they address and whether they are after
	faults := slices.Clone(plan.Faults)
	slices.SortStableFunc(faults, func(a, b Fault) int { return cmp.Compare(a.Call.N, b.Call.N) })
	var errs []error
	for _, f := range faults {
		if f.target() != driverCalls {
			t.faults = append(t.faults, struckFault{Fault: f})
			continue
		}
		fault := csiFault(f)
		fault.Caller, fault.Method = f.Call.Actor, f.Call.Verb
		// A call that is struck is not counted by the faults behind it.
		like := Fault{Call: Call{Actor: f.Call.Actor, Verb: f.Call.Verb}}
		if fault.After {
			like.Kind = CSILost
		}
		fault.Skip, fault.Times = max(0, f.Call.N-1-passed[like]), f.Times
		passed[like] += max(1, f.Times)
		errs = append(errs, c.Lab().Sockets().Inject(fault)) // the caller may come later
	}
	for _, h := range plan.Holds {
		t.holds = append(t.holds, startedHold{Hold: h})
	}
	return t, errors.Join(errs...)
}

// call begins the trouble that is planned for a call.
func (t *trouble) call(number int, call *api.Request) {
	if t.over {
		return
	}
	for i := range t.faults {
		f := &t.faults[i]
		if f.target() != apiCalls || !f.Call.addresses(call) {
			continue
		}
		if f.calls++; f.strikes() {
			fault := apiFault(f.Fault)
			fault.Call = number
			_ = t.c.Engine().Inject(fault) // it is right: apiFault made it
		}
	}
	for i := range t.holds {
		h := &t.holds[i]
		if !h.From.addresses(call) {
			continue
		}
		if h.calls++; h.calls == h.From.N {
			h.begin(t.c)
		}
	}
}

// point begins the trouble that is planned for a point.
func (t *trouble) point(number int, actor, name string) {
	if t.over {
		return
	}
	for i := range t.faults {
		f := &t.faults[i]
		if f.target() != authorPoints || f.Call.Actor != "" && (f.Call.Actor != actor || f.Call.Verb != name) {
			continue
		}
		if f.calls++; f.strikes() {
			fault := pointFault(f.Fault)
			fault.Number = number
			_ = t.c.Engine().InjectPoint(fault) // it is right: pointFault made it
		}
	}
}

// missed returns the faults that struck nothing, and the caches that did not fall behind.
func (t *trouble) missed() (list []string) {
	for _, f := range t.faults {
		if f.calls < f.Call.N {
			list = append(list, f.text())
		}
	}
	for _, f := range t.c.Lab().Sockets().MissedFaults() {
		list = append(list, f.String())
	}
	for _, h := range t.holds {
		if h.calls < h.From.N {
			list = append(list, h.text())
		}
	}
	return list
}

// begin lets the cache fall behind. An actor that is not there in this run, or has no such cache, cannot be held.
func (h Hold) begin(c *storagesim.Cluster) {
	hold := c.Engine().HoldFor
	if h.Past {
		hold = c.Engine().LagFor
	}
	if hold(h.Actor, h.Resource, h.For) == nil {
		c.Engine().Record(h.Actor, trace.Held{Actor: h.Actor, Resource: h.Resource, For: h.For, Past: h.Past})
	}
}

// end ends all trouble.
func (t *trouble) end() {
	t.over = true
	t.c.Lab().ClearFaults()
}

// addresses reports whether a call at the API server is one of those that count.
func (c Call) addresses(call *api.Request) bool {
	if c.Actor == "" {
		return true
	}
	if c.Actor != call.Actor || c.Verb != call.Verb {
		return false
	}
	resource, sub, _ := strings.Cut(c.Resource, "/")
	return resource == call.Resource.Resource && sub == call.Subresource
}

// place returns the kind of call, as place does.
func (c Call) place() string { return strings.TrimSpace(c.Actor + " " + c.Verb + " " + c.Resource) }

// addressesOf returns the addresses of calls, whose places are given in their order.
func addressesOf(places []string) []Call {
	seen := map[string]int{}
	calls := make([]Call, len(places))
	for i, place := range places {
		seen[place]++
		words := append(strings.SplitN(place, " ", 3), "")
		calls[i] = Call{words[0], words[1], words[2], seen[place]}
	}
	return calls
}

func apiFault(f Fault) engine.Fault {
	var fault engine.Fault
	switch f.Kind {
	case CrashBefore, CrashAfter:
		fault.Crash, fault.After = true, f.Kind == CrashAfter
	case Refused:
		fault.Err = apierrors.NewInternalError(errors.New("etcdserver: request timed out"))
	case Conflict:
		fault.Err = apierrors.NewConflict(schema.GroupResource{Resource: "objects"}, "it", errors.New("the object has been modified"))
	default: // Lost
		fault.After = true
	}
	return fault
}

func pointFault(f Fault) engine.PointFault {
	switch f.Kind {
	case PointCrash, PointCrashAfter:
		return engine.PointFault{Crash: true, After: f.Kind == PointCrashAfter}
	case PointSlow:
		return engine.PointFault{Delay: PointDelay}
	}
	return engine.PointFault{After: f.Kind == PointLost}
}

func csiFault(f Fault) socket.Fault {
	switch f.Kind {
	case CSIUnavailable:
		return socket.Fault{Code: codes.Unavailable}
	case CSICrash, CSICrashAfter:
		return socket.Fault{Crash: true, After: f.Kind == CSICrashAfter}
	case CSIHang:
		return socket.Fault{Hang: true}
	}
	return socket.Fault{After: true}
}

// place names a call, so that calls of one kind count as one place.
func place(call *api.Request) string {
	resource := call.Resource.Resource
	if call.Subresource != "" {
		resource += "/" + call.Subresource
	}
	return fmt.Sprintf("%s %s %s", call.Actor, call.Verb, resource)
}
