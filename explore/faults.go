package explore

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/csi/socket"
	"github.com/storagesim/storagesim/engine"
)

// The kinds of faults of calls at the API server.
const (
	// CrashBefore ends the caller's process before the call is made, CrashAfter when the
	// server has carried it out. It starts again at once.
	CrashBefore, CrashAfter = "crash", "crash-after"
	// Refused is an internal error of the server, which did nothing.
	Refused = "refused"
	// Conflict is the answer to an update of an object that has changed.
	Conflict = "conflict"
	// Lost has the call carried out, and its answer lost.
	Lost = "lost"
)

// The kinds of faults of calls to CSI drivers.
const (
	// CSIUnavailable has the driver not get the call, CSILost lose the answer.
	CSIUnavailable, CSILost = "csi-unavailable", "csi-lost"
	// CSICrash ends the driver's process before it gets the call, CSICrashAfter when it has
	// carried the call out. It starts again at once, with its memory.
	CSICrash, CSICrashAfter = "csi-crash", "csi-crash-after"
	// CSIHang has the driver never answer: the caller gives up.
	CSIHang = "csi-hang"
)

// FaultKinds returns all of them.
func FaultKinds() []string {
	return []string{CrashBefore, CrashAfter, Refused, Conflict, Lost, CSIUnavailable, CSILost, CSICrash, CSICrashAfter, CSIHang}
}

// apiKinds returns those of calls at the API server.
func apiKinds() []string { return FaultKinds()[:5] }

// isCSI reports whether a fault strikes calls to drivers.
func (f Fault) isCSI() bool { return strings.HasPrefix(f.Kind, "csi-") }

// inject has a plan's faults strike the cluster from now on.
func (p Plan) inject(c *storagesim.Cluster) error {
	passed := map[bool]int{} // faults of drivers' calls so far, by whether they are after
	faults := slices.Clone(p.Faults)
	slices.SortStableFunc(faults, func(a, b Fault) int { return cmp.Compare(a.Call, b.Call) })
	var errs []error
	for _, f := range faults {
		if !f.isCSI() {
			errs = append(errs, c.Inject(apiFault(f)))
			continue
		}
		fault := csiFault(f)
		// A call that is struck is not counted by the faults behind it.
		fault.Skip = max(0, f.Call-1-passed[fault.After])
		passed[fault.After]++
		errs = append(errs, c.InjectCSI(fault))
	}
	return errors.Join(errs...)
}

func apiFault(f Fault) engine.Fault {
	fault := engine.Fault{Call: f.Call}
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

// hold has those caches fall behind whose time begins with a call.
func (p Plan) hold(c *storagesim.Cluster, call int) {
	for _, h := range p.Holds {
		if h.From == call {
			// An actor that is not there in this run, or has no such cache, cannot be held.
			if h.Past {
				_ = c.Engine().LagFor(h.Actor, h.Resource, h.For)
			} else {
				_ = c.Engine().HoldFor(h.Actor, h.Resource, h.For)
			}
		}
	}
}

// place names a call, so that calls of one kind count as one place.
func place(call *api.Request) string {
	resource := call.Resource.Resource
	if call.Subresource != "" {
		resource += "/" + call.Subresource
	}
	return fmt.Sprintf("%s %s %s", call.Actor, call.Verb, resource)
}
