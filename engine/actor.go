package engine

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
)

// actor is one controller process: its factory, and what the factory made in
// the current life.
type actor struct {
	engine  *Engine
	name    string
	factory control.Factory

	life   int // counts starts and crashes; an Env works only in its own life
	client kubernetes.Interface
	tasks  map[*task]struct{}
	feeds  []*feed
	held   map[string]bool // resources whose caches are held back

	unlisted int     // feeds that have had no list yet
	waiting  []*task // made before that: they start when it is 0

	crashing bool // its own code ran into a fault: the engine crashes it next
	down     bool
	downtime time.Duration
}

// start builds the actor anew.
func (a *actor) start() error {
	a.life++
	a.down = false
	a.tasks, a.feeds = map[*task]struct{}{}, nil
	a.unlisted, a.waiting = 1, nil // 1 for the factory itself
	a.client = a.engine.server.ClientWithGate(a.name, &gate{actor: a, life: a.life})
	err := a.factory(&env{actor: a, life: a.life})
	a.listed()
	return err
}

// listed counts down to the moment when every feed has had its first list. Then
// the tasks start: one that ran earlier would take what it has not heard of for
// gone. Upstream: cache.WaitForCacheSync.
func (a *actor) listed() {
	if a.unlisted--; a.unlisted == 0 {
		a.engine.tasks = append(a.engine.tasks, a.waiting...)
		a.waiting = nil
	}
}

// stop forgets everything the actor has in memory.
func (a *actor) stop() {
	e := a.engine
	a.life++
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
	// Unwinding runs the deferred functions of several coroutines. Their order
	// cannot matter: whatever they ask of the Env or the API does nothing.
	for t := range a.tasks {
		e.current = t
		t.stop()
		e.current = nil
	}
	a.tasks, a.feeds, a.waiting = nil, nil, nil
}

// crash forgets everything and restarts the actor after a.downtime.
func (a *actor) crash() {
	if a.down {
		return
	}
	e := a.engine
	a.crashing, a.down = false, true
	a.stop()
	e.record(a.name, Crashed{})
	e.after(a.downtime, always, func() {
		e.record(a.name, Restarted{})
		if err := a.start(); err != nil && e.err == nil {
			e.err = fmt.Errorf("actor %s does not start again: %w", a.name, err)
		}
	})
	a.downtime = 0
}

// after sets a timer that does nothing, and that nobody waits for, once the
// actor's present life is over.
func (a *actor) after(d time.Duration, foreground func() bool, fire func()) *timer {
	life := a.life
	alive := func() bool { return a.life == life }
	return a.engine.after(d, func() bool { return alive() && foreground() }, func() {
		if alive() {
			fire()
		}
	})
}
