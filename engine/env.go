package engine

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/trace"
)

// env is the control.Env of an actor during one life.
type env struct {
	actor *actor
	life  int
	ended atomic.Bool // the life is over; goroutines beside the engine read it

	recorders map[string]*recorder // by component
	ends      []func()             // of OnEnd
}

var _ control.FullEnv = (*env)(nil)

func (v *env) alive() bool                  { return !v.ended.Load() }
func (v *env) engine() *Engine              { return v.actor.engine }
func (v *env) Name() string                 { return v.actor.name }
func (v *env) Client() kubernetes.Interface { return v.actor.client }
func (v *env) Objects() control.Objects     { return objects{v.actor.client, v.engine().server} }
func (v *env) Now() time.Time               { return v.actor.engine.Now() }

// task returns the coroutine that calls. Waiting anywhere else (in a Factory, a
// Handler or a test) is a programming error.
func (v *env) task(doing string) *task {
	t := v.engine().current.Load()
	if t == nil || t.actor != v.actor {
		panic(fmt.Sprintf("%s: %s is called outside of the actor's own tasks", v.actor.name, doing))
	}
	if !v.alive() {
		panic(crashed{v.actor.name})
	}
	return t
}

func (v *env) Sleep(ctx context.Context, d time.Duration) error {
	t := v.task("Sleep")
	awaited := always
	if control.IsInBackground(ctx) {
		awaited = never
	}
	left, ends := control.Remaining(ctx, v.Now())
	if ends && left < d {
		return cmp.Or(v.wait(ctx, t, left, awaited), context.DeadlineExceeded)
	}
	return v.wait(ctx, t, d, awaited)
}

// wait parks a task for d, or until its context is cancelled.
func (v *env) wait(ctx context.Context, t *task, d time.Duration, awaited func() bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	timer := v.actor.after(d, awaited, t.wake)
	stop := control.OnCancel(ctx, t.wake)
	t.park()
	stop()
	v.engine().cancel(timer)
	return ctx.Err()
}

func (v *env) Poll(ctx context.Context, interval, timeout time.Duration, cond func(context.Context) (bool, error)) error {
	return control.PollFor(ctx, v, interval, timeout, cond)
}

func (v *env) PollBackoff(ctx context.Context, intervals control.Backoff, cond func(context.Context) (bool, error)) error {
	t, e := v.task("Poll"), v.engine()
	left, ends := control.Remaining(ctx, e.Now())
	end := e.Now().Add(left)
	looked, seen := false, uint64(0)
	for ; ; intervals = intervals.Next() {
		next := intervals.Wait(v.Choose)
		if left = end.Sub(e.Now()); ends && left < next {
			return cmp.Or(v.wait(ctx, t, left, never), context.DeadlineExceeded)
		}
		if err := v.wait(ctx, t, next, func() bool { return !looked || e.seen() != seen }); err != nil {
			return err
		}
		looked, seen = true, e.seen()
		done, err := cond(ctx)
		if done || err != nil {
			return err
		}
	}
}

func (v *env) Every(name string, period time.Duration, f func(context.Context)) {
	v.every(name, period, f, v.actor.line)
	v.actor.roundsOf(name).period = period
}

func (v *env) Heartbeat(name string, period time.Duration, f func(context.Context)) {
	v.every(name, period, f, v.actor.lineAtOnce)
}

// every has a round of f put in line each period.
func (v *env) every(name string, period time.Duration, f func(context.Context), line func(*task)) {
	if period <= 0 {
		panic(fmt.Sprintf("%s: Every %s: the period %s is not positive", v.actor.name, name, period))
	}
	a, first := v.actor, period
	if phase := v.engine().cfg.Phase; a.life == 1 && phase > 0 {
		first -= phase % period
	}
	t := &task{ended: true} // of all rounds: there is one at a time
	work, counts := func(ctx context.Context, _ *task) { f(ctx) }, &a.roundsOf(name).worked
	var timer *timer
	timer = a.after(first, never, func() {
		v.engine().set(timer, period)
		if t.ended {
			*t = task{actor: a, name: name, f: work, tally: counts}
			line(t)
		}
	})
}

func (v *env) Go(name string, f func(context.Context)) {
	if v.alive() {
		v.actor.spawn(name, func(ctx context.Context, _ *task) { f(ctx) })
	}
}

// OnEnd implements control.Mortal.
func (v *env) OnEnd(f func()) { v.ends = append(v.ends, f) }

func (v *env) Trace(r trace.Record) {
	if v.alive() {
		v.engine().record(v.actor.name, r)
	}
}

func (v *env) Choose(n int) int { return v.engine().choose(n) }

func (v *env) Follow(f control.Feed) { v.actor.follow(f) }

// Recorder returns the one recorder of a component: a process has one, whatever parts of it record.
func (v *env) Recorder(component string) control.Recorder {
	r := v.recorders[component]
	if r == nil {
		r = newRecorder(v, component)
		if v.recorders == nil {
			v.recorders = map[string]*recorder{}
		}
		v.recorders[component] = r
	}
	return r
}

func (v *env) EventRecorder(reportingController string) control.EventRecorder {
	return newEventRecorder(v, reportingController)
}
