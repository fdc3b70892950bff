package engine

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/storagesim/storagesim/control"
)

// task is one coroutine of an actor: a queue's worker, one round of periodic
// work, or what Env.Go started.
type task struct {
	actor *actor
	name  string
	*coroutine
	// waiting is true while only a timer, a queue or a poll can wake it.
	waiting bool
	foreign *foreign // the call of third-party code it is in, if any
	worker  bool     // of a queue, which counts the keys it works on
	dead    bool
	ended   bool
}

// crashed is what unwinds the code of a crashed actor.
type crashed struct{ actor string }

func (c crashed) Error() string { return c.actor + " crashed" }
func (crashed) DriverCrash()    {}

var _ control.Crash = crashed{}

// spawn makes a coroutine of f and puts it in line, once the actor's caches have
// had their first list.
func (a *actor) spawn(name string, f func(ctx context.Context, t *task)) *task {
	t := &task{actor: a, name: name, coroutine: a.engine.coroutine()}
	t.does = func() {
		t.guard(func() { f(context.Background(), t) })
		t.ended = true
	}
	a.tasks[t] = struct{}{}
	if a.unlisted > 0 {
		a.waiting = append(a.waiting, t)
	} else {
		a.engine.tasks = append(a.engine.tasks, t)
	}
	return t
}

// guard keeps what an actor's code panics with inside its coroutine: a crash
// ends it, anything else is the actor's own bug and fails the run.
func (t *task) guard(f func()) {
	defer func() {
		t.actor.survive(recover(), t.name)
	}()
	f()
}

// survive makes what the actor's code panicked with, if it did and it is no
// crash, the failure of the run.
func (a *actor) survive(p any, doing string) {
	switch p.(type) {
	case nil, crashed:
	default:
		a.engine.fail(fmt.Errorf("%s: panic in %s: %v\n%s", a.name, doing, p, debug.Stack()))
	}
}

// run resumes the coroutine until it yields or ends.
func (t *task) run() {
	if t.dead || t.ended {
		return
	}
	e := t.actor.engine
	e.current.Store(t)
	e.acted = t.actor.name
	if !t.worker {
		e.work[workKey{t.actor.name, t.name, ""}]++
	}
	answered := t.resume()
	e.current.Store(nil)
	switch {
	case !answered:
		t.ended = true
		delete(t.actor.tasks, t)
	case t.ended:
		delete(t.actor.tasks, t)
		e.idle = append(e.idle, t.coroutine)
	case !t.waiting && !t.dead:
		e.last = t
	}
}

// pause is a yield point at which the task could go on at once.
func (t *task) pause() {
	if t.dead || !t.yield(struct{}{}) || t.dead {
		panic(crashed{t.actor.name})
	}
}

// park is a yield point that ends when the task is woken.
func (t *task) park() {
	if t.dead {
		panic(crashed{t.actor.name})
	}
	t.waiting = true
	ok := t.yield(struct{}{})
	if !ok || t.dead {
		panic(crashed{t.actor.name})
	}
}

// wake puts a parked task in line.
func (t *task) wake() {
	if t.waiting && !t.dead {
		t.waiting = false
		t.actor.engine.tasks = append(t.actor.engine.tasks, t)
	}
}
