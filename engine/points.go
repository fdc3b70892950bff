package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/fault"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/mayfail"
	"github.com/storagesim/storagesim/trace"
)

// PointFault is a failure on purpose at a point of an author's code (package mayfail). Empty fields match anything. At most
// one of Crash, Err and Delay says what happens. With none of them the code gets a *mayfail.Error: the function of the
// point is not called or, with After, its answer is lost.
type PointFault struct {
	// Actor is the actor whose process the code belongs to, and Point the name of the point.
	Actor, Point string
	// Number, if it is not 0, is the number of the one point that is struck, among all that actors reach from 1 on, as
	// OnPoint counts them.
	Number int
	// Skip lets the code pass so many matching points first.
	Skip int
	// Times is the number of points it then strikes: default 1, negative for ever.
	Times int
	// After strikes after the function of the point was called. Otherwise it is not called, but with Delay it is.
	After bool

	// Crash ends the process; it is back after Restart (default at once, and Settle does not wait for any other).
	Crash   bool
	Restart time.Duration
	// Err is the error that the code gets.
	Err error
	// Delay is the virtual time that passes. Meanwhile other actors go on, and the actor's other tasks do not, since the
	// code may hold a lock. In a handler of a CSI driver, which is a single step, it passes when the handler has
	// returned and before the caller has the answer. A program (AddProgram) waits in real time.
	Delay time.Duration
}

// points holds the faults of points, and what was reached.
type points struct {
	faults  fault.Script[*PointFault]
	onReach func(number int, actor, point string)

	mu      sync.Mutex
	counted int             // since OnPoint
	reached map[string]bool // "ACTOR POINT"
}

// InjectPoint adds a fault of points. It returns an error if the fault is invalid.
func (e *Engine) InjectPoint(f PointFault) error {
	if f.Actor != "" {
		if _, err := e.actor(f.Actor); err != nil {
			return err
		}
	}
	if f.Point != "" {
		if err := mayfail.Check(f.Point); err != nil {
			return fmt.Errorf("fault: %w", err)
		}
	}
	what := 0
	for _, set := range []bool{f.Crash, f.Err != nil, f.Delay > 0} {
		if set {
			what++
		}
	}
	negative := cmp.Or(fault.NotNegative("fault: Delay", f.Delay), fault.NotNegative("fault: Restart", f.Restart),
		fault.NotNegative("fault: Skip", f.Skip), fault.NotNegative("fault: Number", f.Number))
	switch {
	case negative != nil:
		return negative
	case what > 1:
		return errors.New("fault: only one of Crash, Err and Delay can be set")
	case f.Restart > 0 && !f.Crash:
		return errors.New("fault: Restart is the downtime of a Crash, which is not set")
	}
	e.points.faults.Add(&f, f.Skip, f.Times)
	return nil
}

// MissedPoints returns the injected faults of points that have struck nothing so far.
func (e *Engine) MissedPoints() []PointFault {
	var missed []PointFault
	for _, f := range e.points.faults.Missed() {
		missed = append(missed, *f)
	}
	return missed
}

// NearestPoint returns a point that was reached and that one may mean which was not, as a question: " (did you mean ...)".
// It is "" if nothing is near.
func (e *Engine) NearestPoint(f PointFault) string {
	e.points.mu.Lock()
	defer e.points.mu.Unlock()
	reached := slices.Sorted(maps.Keys(e.points.reached))
	if slices.Contains(reached, f.Actor+" "+f.Point) {
		return ""
	}
	var names []string
	for _, place := range reached {
		actor, name, _ := strings.Cut(place, " ")
		if f.Actor == "" || f.Actor == actor {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return prose.DidYouMean(f.Actor+" "+f.Point, reached)
	}
	return prose.DidYouMean(f.Point, slices.Compact(slices.Sorted(slices.Values(names))))
}

// String returns the fault in a few words, such as "lost answer of example.com/disk at point appliance.create".
func (f PointFault) String() string {
	what := "error"
	switch {
	case f.Crash && f.After:
		what = "crash after"
	case f.Crash:
		what = "crash before"
	case f.Delay > 0:
		what = "delay"
	case f.After:
		what = "lost answer"
	}
	text := fmt.Sprintf("%s of %s at point %s", what, cmp.Or(f.Actor, "any actor"), cmp.Or(f.Point, "any"))
	if f.Skip > 0 {
		text += fmt.Sprintf(" (number %d)", f.Skip+1)
	}
	return text
}

// OnPoint has f called before each point that the code of an actor reaches, with its number: 1 is the first after this.
// Those of programs are not counted. f may call InjectPoint, and nothing else of the engine.
func (e *Engine) OnPoint(f func(number int, actor, point string)) {
	e.points.mu.Lock()
	defer e.points.mu.Unlock()
	e.points.onReach, e.points.counted = f, 0
}

// reach notes that an actor reaches a point, and returns the fault that strikes, nil if none does.
func (e *Engine) reach(actor, name string, counts bool) *control.PointFault {
	p, number := &e.points, 0
	p.mu.Lock()
	if p.reached == nil {
		p.reached = map[string]bool{}
	}
	p.reached[actor+" "+name] = true
	if counts && p.onReach != nil {
		p.counted++
		number = p.counted
		p.onReach(number, actor, name)
	}
	p.mu.Unlock()
	matches := func(want, got string) bool { return want == "" || want == got }
	f, struck := p.faults.Strike(func(f *PointFault) bool {
		return (f.Number == 0 || f.Number == number) && matches(f.Actor, actor) && matches(f.Point, name)
	})
	if !struck {
		return nil
	}
	happens := &control.PointFault{After: f.After, Crash: f.Crash, Restart: f.Restart, Err: f.Err, Delay: f.Delay}
	if !f.Crash && f.Err == nil && f.Delay == 0 {
		happens.Err = &mayfail.Error{Point: name, Lost: f.After}
	}
	return happens
}

var (
	_ mayfail.Hook = (*env)(nil)
	_ mayfail.Hook = (*process)(nil)
)

// ReachPoint implements control.Points.
func (v *env) ReachPoint(name string) *control.PointFault {
	if !v.alive() {
		return &control.PointFault{Err: v.goneAt(name)}
	}
	return v.engine().reach(v.actor.name, name, true)
}

func (v *env) goneAt(name string) error {
	return fmt.Errorf("%s: this context belongs to a process of %s that has crashed", name, v.actor.name)
}

// Reach implements mayfail.Hook for the tasks of an actor. A point is no yield point: code may hold a lock there.
func (v *env) Reach(ctx context.Context, name string, f func() error) error {
	if err := mayfail.Check(name); err != nil {
		return err
	}
	if t := v.engine().current.Load(); t != nil && t.actor == v.actor && (t.dead || !v.alive()) {
		panic(crashed{v.actor.name}) // deferred calls of a process that crashes do nothing
	}
	if !v.alive() {
		return v.goneAt(name)
	}
	return v.ReachPoint(name).At(f, func(f *control.PointFault) error { return v.sufferPoint(ctx, name, f) })
}

// sufferPoint carries out a fault at a point, and returns the error for the code.
func (v *env) sufferPoint(ctx context.Context, name string, f *control.PointFault) error {
	e, t := v.engine(), v.engine().current.Load()
	own := t != nil && t.actor == v.actor && isInTask()
	struck := trace.PointStruck{Point: name, After: f.After, Crash: f.Crash, Delay: f.Delay, Err: f.Err}
	if f.Delay > 0 && !own {
		struck.Err = errors.New("the code is in a goroutine of its own")
	}
	e.record(v.actor.name, struck)
	switch {
	case f.Crash && !own:
		e.post(func() { _ = e.CrashFor(v.actor.name, f.Restart) }) // it exists
		runtime.Goexit()
	case f.Crash:
		v.actor.downtime, v.actor.unawaited = f.Restart, f.Restart > 0
		e.doomed = append(e.doomed, v.actor)
		t.dead = true
		panic(crashed{v.actor.name})
	case f.Delay > 0 && own:
		if left, ends := control.Remaining(ctx, e.Now()); ends && left < f.Delay {
			t.parkAlone(left)
			return context.DeadlineExceeded
		}
		t.parkAlone(f.Delay)
	}
	return f.Err
}

// deepest is the number of calls on a stack that isInTask looks at.
const deepest = 4096

// isInTask reports whether the caller's goroutine is that of a task, and not one that the task's code has started.
func isInTask() bool {
	pcs := make([]uintptr, deepest)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for more := true; more; {
		var f runtime.Frame
		if f, more = frames.Next(); strings.HasSuffix(f.Function, "/engine.(*task).begin") {
			return true
		}
	}
	return false
}

// parkAlone parks the task for a time in which no other code of the actor runs: it might wait for a lock that the task
// holds.
func (t *task) parkAlone(d time.Duration) {
	a := t.actor
	a.standStill(&a.alone)
	a.after(d, always, func() {
		t.waiting = false
		a.behind = slices.Insert(a.behind, 0, t)
		a.goOn(&a.alone)
	})
	t.park()
}

// Reach implements mayfail.Hook for a program.
func (p *process) Reach(ctx context.Context, name string, f func() error) error {
	if err := mayfail.Check(name); err != nil {
		return err
	}
	if p.ctx.Err() != nil {
		return ErrEnded
	}
	e, actor := p.actor.engine, p.actor.name
	return e.reach(actor, name, false).At(f, func(f *control.PointFault) error {
		e.record(actor, trace.PointStruck{Point: name, After: f.After, Crash: f.Crash, Delay: f.Delay, Err: f.Err})
		switch {
		case f.Crash:
			p.die(&Fault{Restart: f.Restart, Unawaited: f.Restart > 0})
			return ErrEnded
		case f.Delay > 0:
			return p.wait(ctx, f.Delay)
		}
		return f.Err
	})
}
