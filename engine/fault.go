package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/internal/fault"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/trace"
)

// Fault is a failure on purpose: it strikes calls to the API server that match.
// Empty fields match anything. Exactly one of Crash, Err and Delay says what
// happens, or none, and then the answer is lost if After is set.
type Fault struct {
	// Actor is the actor that calls.
	Actor string
	// Verb is get, list, create, update, patch or delete; Resource is the plural
	// with the subresource, if any: "persistentvolumes", "pods/binding"; Name is
	// the object's name, and Namespace its namespace.
	Verb, Resource, Namespace, Name string
	// Call, if it is not 0, is the number of the one call that is struck, among all calls
	// of actors from 1 on, as OnCall counts them.
	Call int
	// Skip lets so many matching calls pass first.
	Skip int
	// Times is the number of calls it then strikes: default 1, negative for ever.
	Times int
	// After strikes after the server has carried the call out and before the
	// caller gets the answer. Otherwise the call is never made.
	After bool

	// Crash ends the caller's process; it is back after Restart (default at
	// once). Settle waits for that, unless Unawaited is set.
	Crash     bool
	Restart   time.Duration
	Unawaited bool
	// Err is the error that the caller gets.
	Err error
	// Delay is the time that the call takes.
	Delay time.Duration
}

// ErrAnswerLost is the error that a caller gets for a call whose answer was lost.
var ErrAnswerLost = apierrors.NewTimeoutError("the answer was lost", 0)

// Inject adds a fault, or returns an error if the fault is invalid. Of several that match a call, the one added first strikes, whether before the
// server gets the call or after.
func (e *Engine) Inject(f Fault) error {
	if f.Actor != "" {
		if _, err := e.actor(f.Actor); err != nil {
			return err
		}
	}
	verbs := []string{"", "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
	if !slices.Contains(verbs, f.Verb) {
		return fmt.Errorf("fault: unknown verb %q%s", f.Verb, prose.OneOf(f.Verb, verbs[1:]))
	}
	what := 0
	for _, set := range []bool{f.Crash, f.Err != nil, f.Delay > 0} {
		if set {
			what++
		}
	}
	negative := cmp.Or(fault.NotNegative("fault: Delay", f.Delay), fault.NotNegative("fault: Restart", f.Restart),
		fault.NotNegative("fault: Skip", f.Skip), fault.NotNegative("fault: Call", f.Call))
	switch {
	case negative != nil:
		return negative
	case what > 1:
		return errors.New("fault: only one of Crash, Err and Delay can be set")
	case what == 0 && !f.After:
		return errors.New("fault: one of Crash, Err, Delay and After must be set")
	case f.Restart > 0 && !f.Crash:
		return errors.New("fault: Restart is the downtime of a Crash, which is not set")
	case what == 0:
		f.Err = ErrAnswerLost
	}
	e.faults.Add(&f, f.Skip, f.Times)
	return nil
}

// ClearFaults ends all faults.
func (e *Engine) ClearFaults() {
	e.faults.Clear()
	e.points.faults.Clear()
}

// MissedFaults returns the injected faults that have struck nothing so far.
func (e *Engine) MissedFaults() []Fault {
	var missed []Fault
	for _, f := range e.faults.Missed() {
		missed = append(missed, *f)
	}
	return missed
}

// String returns the fault in a few words, such as "crash of example.com/disk before create persistentvolumes".
func (f Fault) String() string {
	what, when := "error", "before"
	switch {
	case f.Crash:
		what = "crash"
	case f.Delay > 0:
		what = "delay"
	case errors.Is(f.Err, ErrAnswerLost):
		what = "lost answer"
	}
	if f.After {
		when = "after"
	}
	words := []string{what, "of", cmp.Or(f.Actor, "any actor"), when, cmp.Or(f.Verb, "any call"), f.Resource, f.Name}
	text := strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), " ")
	if f.Skip > 0 {
		text += fmt.Sprintf(" (number %d)", f.Skip+1)
	}
	return text
}

// Crash ends an actor's process, which starts again when no other actor can go on.
// During a step (an actor's own code or an observer of the server calls) the
// crash comes right after the step. An actor that is down stays so for as long as
// it would have.
func (e *Engine) Crash(name string) error { return e.CrashFor(name, 0) }

// CrashFor ends an actor's process, which starts again after a downtime. Settle does not wait for
// that; RunFor and RunUntil do.
func (e *Engine) CrashFor(name string, downtime time.Duration) error {
	a, err := e.steered(name)
	switch {
	case err != nil:
		return err
	case downtime < 0:
		return fmt.Errorf("a downtime of %s is negative; it must be 0 or more", downtime)
	}
	if !a.down {
		a.downtime, a.unawaited = downtime, downtime > 0
	}
	e.doom(a)
	return nil
}

// OnCall has f called before each call that an actor makes at the API server, with its
// number: 1 is the first after this. The renewals of nodes' leases are not counted. f must
// not change the request or call the server.
func (e *Engine) OnCall(f func(number int, call *api.Request)) { e.onCall, e.counted = f, 0 }

// count returns the number of a call, 0 as long as calls are not counted.
func (e *Engine) count(call *api.Request) int {
	if e.onCall == nil || call.Resource.Resource == "leases" && call.Namespace == v1.NamespaceNodeLease {
		return 0
	}
	e.counted++
	number, copied := e.counted, *call // no other call need be on the heap
	e.onCall(number, &copied)
	return number
}

// strike finds the fault that hits a call, nil if none does.
func (e *Engine) strike(call *api.Request, number int, after bool) *Fault {
	f, _ := e.faults.StrikeNow(func(f *Fault) bool {
		return (f.After || !after) && (f.Call == 0 || f.Call == number) && f.matches(call)
	}, func(f *Fault) bool { return f.After == after })
	return f
}

func (f *Fault) matches(call *api.Request) bool {
	resource := call.Resource.Resource
	if call.Subresource != "" {
		resource += "/" + call.Subresource
	}
	matches := func(want, got string) bool { return want == "" || want == got }
	return matches(f.Actor, call.Actor) && matches(f.Verb, call.Verb) && matches(f.Resource, resource) && matches(f.Namespace, call.Namespace) &&
		matches(f.Name, call.ObjectName())
}

// gate is the API server as an actor reaches it: each call is a yield point, and here
// faults strike.
type gate struct {
	*api.Server
	actor *actor
	life  int
}

// Do implements api.Handler.
func (g *gate) Do(ctx context.Context, req api.Request) (runtime.Object, error) {
	number, err := g.before(&req)
	if err != nil {
		return nil, err
	}
	obj, err := g.Server.Do(ctx, req)
	if err = g.after(&req, number, err); err != nil {
		return nil, err
	}
	return obj, nil
}

// Watch implements api.Handler.
func (g *gate) Watch(ctx context.Context, req api.Request) (watch.Interface, error) {
	number, err := g.before(&req)
	if err != nil {
		return nil, err
	}
	w, err := g.Server.Watch(ctx, req)
	if err = g.after(&req, number, err); err == nil {
		return w, nil
	}
	if w != nil {
		w.Stop()
	}
	return nil, err
}

// before waits for the call's turn, unless a fault strikes, and says which it is in the count of calls.
func (g *gate) before(call *api.Request) (number int, err error) {
	call.Name = call.ObjectName() // as it is now: the server names the object
	t, err := g.caller()
	if err != nil || t == nil {
		return 0, err
	}
	t.pause()
	number = g.actor.engine.count(call)
	if f := g.actor.engine.strike(call, number, false); f != nil {
		return number, g.suffer(t, f, call)
	}
	return number, nil
}

// after returns the answer, or what a fault makes of it.
func (g *gate) after(call *api.Request, number int, answer error) error {
	t, err := g.caller()
	if err != nil || t == nil {
		return answer
	}
	if f := g.actor.engine.strike(call, number, true); f != nil {
		if err := g.suffer(t, f, call); err != nil {
			return err
		}
	}
	return answer // late, if that was the fault
}

// caller returns the coroutine that calls; nil when a test uses the actor's client.
func (g *gate) caller() (*task, error) {
	if g.life != g.actor.life {
		if t := g.actor.engine.current.Load(); t != nil && t.actor == g.actor {
			panic(crashed{g.actor.name})
		}
		return nil, fmt.Errorf("%s: this client belongs to a process that has crashed", g.actor.name)
	}
	if t := g.actor.engine.current.Load(); t != nil && t.actor == g.actor {
		return t, nil
	}
	return nil, nil
}

func (g *gate) suffer(t *task, f *Fault, call *api.Request) error {
	g.actor.engine.record(g.actor.name, trace.Struck{Call: call.String(), After: f.After, Crash: f.Crash, Delay: f.Delay, Err: f.Err})
	switch {
	case f.Crash:
		g.actor.downtime, g.actor.unawaited = f.Restart, f.Unawaited
		g.actor.engine.doomed = append(g.actor.engine.doomed, g.actor)
		t.dead = true
		panic(crashed{g.actor.name})
	case f.Delay > 0:
		g.actor.after(f.Delay, always, t.wake)
		t.park()
		return nil
	}
	return f.Err
}
