package engine

import (
	"fmt"
	"time"

	"github.com/storagesim/storagesim/trace"
)

// Stop ends an actor's process, which stays down until Start. During a step it ends
// right after the step. An actor that is down already does not start again by itself.
func (e *Engine) Stop(name string) error { return e.end(name, false) }

// SwitchOff ends an actor as Stop does. Its record says that the machine of the actor was switched off.
func (e *Engine) SwitchOff(name string) error { return e.end(name, true) }

// end ends an actor's process until Start.
func (e *Engine) end(name string, off bool) error {
	a, err := e.steered(name)
	switch {
	case err != nil:
		return err
	case a.stopped:
		return fmt.Errorf("actor %q is stopped already", name)
	}
	a.stopped, a.off = true, off
	e.doom(a)
	return nil
}

// Start starts a stopped actor again, with empty caches, when no other actor
// can go on.
func (e *Engine) Start(name string) error {
	a, err := e.steered(name)
	switch {
	case err != nil:
		return err
	case !a.stopped || !a.down:
		return fmt.Errorf("actor %q is not stopped", name)
	}
	a.stopped = false
	a.startAfter(0, always)
	return nil
}

// steered returns an actor that is to be started, ended, paused or resumed: there must be one of that name, and the engine must not be closed.
func (e *Engine) steered(name string) (*actor, error) {
	a, err := e.actor(name)
	if err == nil && e.closed {
		err = ErrClosed
	}
	return a, err
}

// doom ends an actor's process: during a step at the end of the step, else at once.
func (e *Engine) doom(a *actor) {
	e.doomed = append(e.doomed, a)
	if !e.busy {
		e.endStep()
	}
}

// halt ends an actor's process, if it runs, and keeps the actor down.
func (a *actor) halt() {
	if !a.down {
		a.down = true
		a.stop()
	}
	a.life++ // what would have started it again is void
	a.restart = time.Time{}
	a.downtime, a.unawaited, a.ended = 0, false, false
	a.engine.record(a.name, trace.Stopped{Off: a.off})
}

// startAfter starts an actor that is down, unless it is stopped before.
func (a *actor) startAfter(d time.Duration, foreground func() bool) {
	e, life := a.engine, a.life
	a.restart = e.Now().Add(d)
	e.after(d, foreground, func() {
		if a.life != life {
			return
		}
		a.await(func() {
			e.record(a.name, trace.Restarted{})
			if err := a.start(); err != nil {
				e.fail(fmt.Errorf("actor %s does not start again: %w", a.name, err))
			}
		})
	})
}
