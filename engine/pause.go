package engine

import (
	"fmt"
	"slices"
)

// Pause stops an actor where it is, as SIGSTOP does a process, until Resume: it runs no code and its caches receive nothing. Time passes for it all
// the same: what it waits for meanwhile comes when it goes on, at once and in the order in which it came. Settle does not wait for it. During a step
// of the actor it stops at the end of the step. A process that ends meanwhile is not paused when it starts again.
//
// It returns an error if there is no such actor, if it is down, paused already, or a program (AddProgram), whose goroutines the engine cannot stop.
func (e *Engine) Pause(name string) error {
	a, err := e.steered(name)
	switch {
	case err != nil:
		return err
	case a.program != nil:
		return fmt.Errorf("actor %q is a program: its goroutines cannot be paused", name)
	case a.down:
		return fmt.Errorf("actor %q is down and cannot be paused", name)
	case a.paused:
		return fmt.Errorf("actor %q is paused already", name)
	}
	a.standStill(&a.paused)
	return nil
}

// Resume lets a paused actor go on, as SIGCONT does. One that is not paused goes on as it did.
func (e *Engine) Resume(name string) error {
	a, err := e.steered(name)
	if err != nil {
		return err
	}
	if a.paused {
		a.goOn(&a.paused)
	}
	return nil
}

// stands reports whether none of the actor's tasks is to run and none of its caches to receive anything.
func (a *actor) stands() bool { return a.alone || a.paused }

// standStill keeps the actor's tasks from running and its caches from changes until goOn. why is alone or paused.
func (a *actor) standStill(why *bool) {
	e := a.engine
	if e.last != nil && e.last.actor == a {
		a.behind, e.last = append(a.behind, e.last), nil
	}
	e.tasks = slices.DeleteFunc(e.tasks, func(t *task) bool {
		if t.actor == a {
			a.behind = append(a.behind, t)
		}
		return t.actor == a
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	*why = true
	e.ready = slices.DeleteFunc(e.ready, func(f *feed) bool {
		if f.actor == a {
			f.queued, f.missed = false, true
		}
		return f.actor == a
	})
}

// goOn ends what standStill began, and lets the actor's tasks run and its caches receive changes if nothing else keeps them.
func (a *actor) goOn(why *bool) {
	e := a.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	*why = false
	if a.stands() {
		return
	}
	e.tasks, a.behind = append(e.tasks, a.behind...), nil
	for _, f := range a.feeds {
		if f.missed && !a.held[f.target.Source().Resource.Resource] {
			f.missed = false
			f.enqueue()
		}
	}
}
