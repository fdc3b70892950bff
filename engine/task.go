package engine

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/storagesim/storagesim/control"
)

// task is a piece of an actor's work: a queue's worker, one round of periodic
// work, or what Env.Go started.
type task struct {
	actor *actor
	name  string
	f     func(ctx context.Context, t *task)
	// coroutine does it. A task that has not begun has none, nor has a worker without a key.
	*coroutine
	// waiting is true while only a timer, a queue or a poll can wake it.
	waiting bool
	foreign *foreign // the call of third-party code it is in, if any
	queue   *queue   // if it is a worker of one, which counts the keys it works on
	tally   *tally   // if it is none
	dead    bool
	ended   bool
	step    int // see Engine.numbered
}

// crashed is the value of the panic that unwinds the code of a crashed actor.
type crashed struct{ actor string }

func (c crashed) Error() string { return c.actor + " crashed" }
func (crashed) DriverCrash()    {}

var _ control.Crash = crashed{}

// spawn makes a task of f and puts it in line, once the actor's caches have
// had their first list.
func (a *actor) spawn(name string, f func(ctx context.Context, t *task)) {
	a.line(&task{actor: a, name: name, f: f, tally: &tally{}})
}

// line puts a new task in line, once the actor's caches have had their first list.
func (a *actor) line(t *task) {
	if a.unlisted == 0 {
		a.lineAtOnce(t)
		return
	}
	a.take(t)
	a.waiting = append(a.waiting, t)
}

// lineAtOnce puts a new task in line that needs no cache.
func (a *actor) lineAtOnce(t *task) {
	a.take(t)
	t.enable()
}

// take makes the task one of the actor's.
func (a *actor) take(t *task) {
	if a.tasks == nil {
		a.tasks = map[*task]struct{}{}
	}
	a.tasks[t] = struct{}{}
}

// enable puts the task in line: at once, or when the actor, which stands still, goes on.
func (t *task) enable() {
	if t.actor.stands() {
		t.actor.behind = append(t.actor.behind, t)
		return
	}
	t.actor.engine.tasks = append(t.actor.engine.tasks, t)
}

// begin carries the task out, in its coroutine. What an actor's code panics with stays
// inside: a crash ends it, anything else is the actor's own bug and fails the run.
func (t *task) begin() {
	returned := false
	defer func() {
		t.actor.survive(recover(), t.name)
		t.ended = t.queue == nil || !returned // a worker is back when there is a key again
	}()
	t.f(t.actor.context(), t)
	returned = true
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
	if t.queue == nil {
		t.tally.count(e)
	} else if t.coroutine == nil && t.queue.rests(t) {
		e.current.Store(nil)
		return
	}
	if t.coroutine == nil {
		t.coroutine = e.coroutine()
		t.does = t
	}
	answered := t.resume()
	e.current.Store(nil)
	switch {
	case !answered:
		t.ended = true
		t.forget()
	case t.ended:
		t.forget()
		e.idle = append(e.idle, t.coroutine)
	case t.does == nil: // a worker without a key
		e.idle = append(e.idle, t.coroutine)
		t.coroutine = nil
	case t.waiting || t.dead:
	case t.actor.stands(): // it was paused in this step
		t.enable()
	default:
		e.last = t
	}
}

// forget ends what the engine knows of a task that has ended, but for how often it has worked.
func (t *task) forget() {
	delete(t.actor.tasks, t)
	if e := t.actor.engine; t.once() {
		e.work[workKey{t.actor.name, t.name, ""}] += t.tally.of(e)
	}
}

// once reports whether the task is neither a worker nor a round of periodic work.
func (t *task) once() bool {
	rounds := t.actor.rounds[t.name]
	return t.tally != nil && (rounds == nil || t.tally != &rounds.worked)
}

// pause yields: the engine takes other steps, or lets the task go on at once. It panics if the task
// is to end.
func (t *task) pause() {
	if t.dead || !t.leave() || t.dead {
		panic(crashed{t.actor.name})
	}
}

// leave lets the engine go on until it resumes the task. It returns false if the task is to end.
func (t *task) leave() bool {
	if t.foreign != nil {
		freeThread()
	}
	return t.yield(struct{}{})
}

// park gives way to others until the task is woken. It panics if the task is to end.
func (t *task) park() {
	if t.dead {
		panic(crashed{t.actor.name})
	}
	t.waiting = true
	q := t.queue
	if q != nil {
		q.parked++
		q.overlap()
	}
	ok := t.leave()
	if !ok || t.dead {
		panic(crashed{t.actor.name})
	}
	if q != nil {
		q.parked--
	}
}

// wake puts a parked task in line.
func (t *task) wake() {
	if t.waiting && !t.dead {
		t.waiting = false
		t.enable()
	}
}
