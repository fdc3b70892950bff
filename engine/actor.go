package engine

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/mayfail"
	"github.com/storagesim/storagesim/trace"
)

// actor is one controller process: its factory, and what the factory made in
// the current life.
type actor struct {
	engine  *Engine
	name    string
	factory control.Factory
	program Program  // instead of a factory
	process *process // of the program, the last one

	life   int // counts starts and crashes; an Env works only in its own life
	client *fake.Clientset
	tasks  map[*task]struct{}
	feeds  []*feed
	queues map[string]*queue
	rounds map[string]*rounds // periodic work by name, of all lives
	held   map[string]bool    // resources whose caches are held back
	pasts  []*past            // lists for a process that starts meanwhile (LagFor)

	alone  bool            // one task waits in the middle of an author's code, and nothing else of the actor runs; guarded by Engine.mu
	paused bool            // until Resume; guarded by Engine.mu
	behind []*task         // those that could run, while the actor is alone or paused
	env    *env            // of this life
	ctx    context.Context // of this life, see context

	unlisted int     // feeds that have had no list yet
	waiting  []*task // made before that: they start when it is 0

	followed  []string // resources it had caches of in earlier lives, sorted
	down      bool
	stopped   bool          // until Start
	off       bool          // stopped because its machine was switched off
	restart   time.Time     // when it starts again, if it is down
	downtime  time.Duration // of the next crash
	unawaited bool          // Settle does not wait for the next restart
	loop      crashLoop
	ended     bool // by itself: Settle does not wait long for its restart
}

// start builds the actor anew.
func (a *actor) start() error {
	a.life++
	a.down = false
	if a.program != nil {
		a.begin()
		return nil
	}
	for _, q := range a.queues {
		for _, it := range q.items {
			q.settle(it)
		}
	}
	a.tasks, a.feeds, a.queues, a.ctx = nil, nil, nil, nil
	a.unlisted, a.waiting = 1, nil // 1 for the factory itself
	a.client = fake.NewWithoutActions(&gate{Server: a.engine.server, actor: a, life: a.life}, a.name)
	v := &env{actor: a, life: a.life}
	a.env = v
	err := a.build(v)
	a.listed()
	return err
}

// rounds of periodic work.
type rounds struct {
	worked tally
	period time.Duration // 0 of a sign of life
}

// roundsOf returns the rounds of that name.
func (a *actor) roundsOf(name string) *rounds {
	if a.rounds == nil {
		a.rounds = map[string]*rounds{}
	}
	if a.rounds[name] == nil {
		a.rounds[name] = &rounds{}
	}
	return a.rounds[name]
}

// context returns the context of the tasks of this life. It knows the hook of package mayfail.
func (a *actor) context() context.Context {
	if a.ctx == nil { // many actors of a cluster have nothing to do
		a.ctx = mayfail.With(context.Background(), a.env)
	}
	return a.ctx
}

// build calls the factory; what it panics with is an error.
func (a *actor) build(env control.Env) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in its factory: %v\n%s", p, debug.Stack())
		}
	}()
	a.engine.built.Store(a)
	defer a.engine.built.Store(nil)
	return a.factory(env)
}

// listed counts down to the moment when every feed has had its first list. Then
// the tasks start: one that ran earlier would take what it has not heard of for
// gone. Upstream: cache.WaitForCacheSync.
func (a *actor) listed() {
	if a.unlisted--; a.unlisted == 0 {
		for _, t := range a.waiting {
			t.enable()
		}
		a.waiting = nil
	}
}

// stop forgets everything the actor has in memory.
func (a *actor) stop() {
	e := a.engine
	a.life++
	if a.env != nil {
		a.env.ended.Store(true)
	}
	if a.process != nil {
		a.process.end()
	}
	for t := range a.tasks {
		t.dead = true
	}
	e.tasks = slices.DeleteFunc(e.tasks, func(t *task) bool { return t.actor == a })
	if e.last != nil && e.last.actor == a {
		e.last = nil
	}
	e.dropReady(func(f *feed) bool { return f.actor == a })
	for _, f := range a.feeds {
		f.cursor.Stop()
	}
	if !e.closed {
		a.followed = a.follows()
	}
	// Unwinding runs the deferred functions of several coroutines. Their order
	// cannot matter: whatever they ask of the Env or the API does nothing.
	for t := range a.tasks {
		if t.coroutine == nil {
			continue
		}
		e.current.Store(t)
		t.stop()
		e.current.Store(nil)
	}
	if a.env != nil {
		for _, end := range slices.Backward(a.env.ends) {
			end()
		}
		a.env.ends = nil
	}
	a.tasks, a.waiting, a.behind = nil, nil, nil
	if !e.closed { // otherwise they say what it followed
		a.feeds = nil
	}
	a.goOn(&a.alone)
	a.goOn(&a.paused)
}

// crash forgets everything and restarts the actor after a.downtime. Settling does not
// wait for a process that keeps ending by itself once its backoff exceeds the patience.
func (a *actor) crash() {
	if a.stopped {
		a.halt()
		return
	}
	if a.down {
		return
	}
	e := a.engine
	a.down = true
	a.stop()
	e.record(a.name, trace.Crashed{Downtime: a.downtime})
	foreground := always
	if a.unawaited || a.ended && a.downtime > e.cfg.Patience {
		foreground = never
	}
	a.startAfter(a.downtime, foreground)
	a.downtime, a.unawaited, a.ended = 0, false, false
}

// Down returns the actors that have crashed and not started again, each with when it
// will: the zero time if it was stopped.
func (e *Engine) Down() map[string]time.Time {
	down := map[string]time.Time{}
	for _, a := range e.actors {
		if a.down {
			down[a.name] = a.restart
		}
	}
	return down
}

// after sets a timer that does nothing, and that Settle does not wait for, once the
// actor's present life is over.
func (a *actor) after(d time.Duration, foreground func() bool, fire func()) *timer {
	t := a.engine.after(d, foreground, fire)
	t.actor, t.life = a, a.life
	return t
}
