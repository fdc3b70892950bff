package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Step takes one step: it runs a coroutine to its next yield point or delivers
// one change to one cache. When nothing can run it fires the earliest timer. It
// reports whether there was anything to do, and the first error of an actor's
// own code.
func (e *Engine) Step() (bool, error) {
	if err := e.usable(); err != nil {
		return false, err
	}
	if e.step() || e.answer() {
		return true, e.err
	}
	if len(e.timers) == 0 {
		return false, e.err
	}
	e.fireNext()
	return true, e.err
}

// LastActor returns the actor whose step was the last one: its code ran, or one of its
// caches heard of a change. It is "" before the first step, and stays when only
// time passes.
func (e *Engine) LastActor() string { return e.acted }

// step takes one step that needs no time. Alternative 0 is the step in order.
func (e *Engine) step() bool {
	e.mu.Lock()
	ready, posted := len(e.ready), e.takePosted()
	e.mu.Unlock()
	if posted != nil {
		e.busy = true
		defer e.endStep()
		e.steps.Add(1)
		posted()
		return true
	}
	n := ready + len(e.tasks)
	if e.last != nil {
		n++
	}
	if n == 0 {
		return false
	}
	e.busy = true
	defer e.endStep()
	e.steps.Add(1)
	from, i := e.locate(e.chooseStep(n), ready)
	last := e.last
	e.last = nil
	if from == lastTask {
		last.run()
		return true
	}
	if last != nil {
		e.tasks = append(e.tasks, last)
	}
	if from == deliveries {
		e.takeReady(i).deliver()
		return true
	}
	t := e.tasks[i]
	if i == 0 { // in order: thousands that wait in line need not move up
		takeFirst(&e.tasks)
	} else {
		e.tasks = slices.Delete(e.tasks, i, i+1)
	}
	t.run()
	return true
}

// endStep carries out the crashes that the step asked for. It is deferred: a test
// that fails inside an actor's code ends the goroutine and not the engine.
func (e *Engine) endStep() {
	e.current.Store(nil)
	e.busy = true
	for len(e.doomed) > 0 {
		a := e.doomed[0]
		e.doomed = e.doomed[1:]
		a.crash()
	}
	e.busy = false
}

// usable says why no step can be taken now.
func (e *Engine) usable() error {
	switch {
	case e.closed:
		return ErrClosed
	case e.busy:
		return errors.New("the engine is in the middle of a step: an actor's code cannot drive the engine")
	case e.stopped.Load():
		return ErrInterrupted
	}
	return e.err
}

// Settle runs until nothing can run and no foreground timer is left. See the
// package comment for what it waits for. It fails when an actor's code fails,
// and with a report when no end is in sight.
func (e *Engine) Settle() error {
	if err := e.usable(); err != nil {
		return err
	}
	limit := e.newLimit(0)
	for {
		if err := e.drain(limit); err != nil {
			return err
		}
		next := e.nextForeground()
		if next == nil {
			return nil
		}
		if err := e.fireUntil(next.at, limit, next.givenUp); err != nil {
			return err
		}
	}
}

// RunFor runs for d of virtual time, background timers included.
func (e *Engine) RunFor(d time.Duration) error {
	if err := e.usable(); err != nil {
		return err
	}
	if d < 0 {
		return fmt.Errorf("a negative time cannot pass: %s", d)
	}
	limit := e.momentLimit()
	end := e.Now().Add(d)
	if err := e.drain(limit); err != nil {
		return err
	}
	if err := e.fireUntil(end, limit, func() bool { return false }); err != nil {
		return err
	}
	e.advance(end)
	return nil
}

// LongestPeriod returns the longest period of the actors' periodic work (Env.Every): the time after which each has had a turn. It is 0
// if there is none. Actors that are stopped do not count.
func (e *Engine) LongestPeriod() (longest time.Duration) {
	for _, a := range e.actors {
		if a.stopped {
			continue
		}
		for _, r := range a.rounds {
			longest = max(longest, r.period)
		}
	}
	return longest
}

// Ordered calls run, which drives the engine, and takes all steps in order meanwhile: the Policy is not
// asked, and no choice is recorded. So what waits for nothing but time does not move the positions of the
// choices that come after it.
func (e *Engine) Ordered(run func() error) error {
	before := e.ordered
	e.ordered = true
	defer func() { e.ordered = before }()
	return run()
}

// RunUntil runs step by step until cond holds, at most for timeout of virtual
// time. It says so in words when it does not come to hold.
func (e *Engine) RunUntil(timeout time.Duration, cond func() bool) error {
	if err := e.usable(); err != nil {
		return err
	}
	limit := e.newLimit(time.Minute)
	end := e.Now().Add(timeout)
	for !cond() {
		if err := limit.check(); err != nil {
			return err
		}
		if e.step() {
			if e.err != nil {
				return e.err
			}
			continue
		}
		if e.err != nil {
			return e.err
		}
		if e.answer() {
			continue
		}
		if len(e.timers) == 0 {
			return &ConditionError{fmt.Sprintf("and nothing is left to happen at %s", e.Now().Format(time.TimeOnly))}
		}
		if e.timers[0].at.After(end) {
			e.advance(end)
			return &ConditionError{fmt.Sprintf("after %s", timeout)}
		}
		e.fireNext()
	}
	return nil
}

// ConditionError is the error of RunUntil for a condition that does not come true.
type ConditionError struct{ when string }

func (e *ConditionError) Error() string { return "the condition does not hold " + e.when }

// drain takes steps that need no time until there are none.
func (e *Engine) drain(limit *stepLimit) error {
	for e.step() || e.answer() {
		if e.err != nil {
			return e.err
		}
		if err := limit.check(); err != nil {
			return err
		}
	}
	return e.err
}

// fireUntil fires timers up to and including at, each followed by what it sets
// off, unless that makes it needless to go on.
func (e *Engine) fireUntil(at time.Time, limit *stepLimit, needless func() bool) error {
	for len(e.timers) > 0 && !e.timers[0].at.After(at) && !needless() {
		if err := limit.check(); err != nil {
			return err
		}
		e.fireNext()
		if err := e.drain(limit); err != nil {
			return err
		}
	}
	return nil
}
