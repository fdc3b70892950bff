package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Step takes one step: it runs a coroutine to its next yield point or delivers
// one change to one cache. When nothing can run it fires the earliest timer. It
// reports whether there was anything to do, and the first error of an actor's
// own code.
func (e *Engine) Step() (bool, error) {
	if e.step() {
		return true, e.err
	}
	if len(e.timers) == 0 {
		return false, e.err
	}
	e.fireNext()
	return true, e.err
}

// step takes one step that needs no time. Alternative 0 is the step in order.
func (e *Engine) step() bool {
	hasLast := 0
	if e.last != nil {
		hasLast = 1
	}
	e.mu.Lock()
	ready := len(e.ready)
	e.mu.Unlock()
	n := hasLast + ready + len(e.tasks)
	if n == 0 {
		return false
	}
	e.steps++
	i := e.choose(n)
	if i < hasLast {
		t := e.last
		e.last = nil
		t.run()
		return true
	}
	if hasLast == 1 {
		e.tasks = append(e.tasks, e.last)
		e.last = nil
	}
	i -= hasLast
	if i < ready {
		e.takeReady(i).deliver()
		return true
	}
	i -= ready
	t := e.tasks[i]
	e.tasks = slices.Delete(e.tasks, i, i+1)
	t.run()
	return true
}

// Settle runs until nothing can run and no foreground timer is left. See the
// package comment for what it waits for. It fails when an actor's code fails,
// and with a report when no end is in sight.
func (e *Engine) Settle() error {
	limit := e.newLimit()
	for {
		if err := e.drain(limit); err != nil {
			return err
		}
		at, ok := e.nextForeground()
		if !ok {
			return nil
		}
		if err := e.fireUntil(at, limit); err != nil {
			return err
		}
	}
}

// RunFor runs for d of virtual time, background timers included.
func (e *Engine) RunFor(d time.Duration) error {
	limit := e.newLimit()
	end := e.Now().Add(d)
	if err := e.drain(limit); err != nil {
		return err
	}
	if err := e.fireUntil(end, limit); err != nil {
		return err
	}
	e.advance(end)
	return nil
}

// RunUntil runs step by step until cond holds, at most for timeout of virtual
// time. It says so in words when it does not come to hold.
func (e *Engine) RunUntil(timeout time.Duration, cond func() bool) error {
	limit := e.newLimit()
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
		if len(e.timers) == 0 {
			return fmt.Errorf("the condition does not hold and nothing is left to happen at %s", e.Now().Format(time.TimeOnly))
		}
		if e.timers[0].at.After(end) {
			e.advance(end)
			return fmt.Errorf("the condition does not hold after %s", timeout)
		}
		e.fireNext()
	}
	return nil
}

// drain takes steps that need no time until there are none.
func (e *Engine) drain(limit *stepLimit) error {
	for e.step() {
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
// off.
func (e *Engine) fireUntil(at time.Time, limit *stepLimit) error {
	for len(e.timers) > 0 && !e.timers[0].at.After(at) {
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

// stored is the number of objects at the API server.
func (e *Engine) stored() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.objects
}

// workKey names what a worker worked on, for the livelock report.
type workKey struct{ actor, queue, key string }

// stepLimit turns a livelock into an error.
type stepLimit struct {
	engine *Engine
	first  uint64
	began  time.Time
}

func (e *Engine) newLimit() *stepLimit {
	clear(e.work)
	return &stepLimit{engine: e, first: e.steps, began: e.Now()}
}

func (l *stepLimit) check() error {
	e := l.engine
	limit := e.cfg.StepLimit
	if limit == 0 {
		limit = 200_000 + 2_000*e.stored()
	}
	if e.steps-l.first <= uint64(limit) {
		return nil
	}
	type line struct {
		workKey
		n int
	}
	var lines []line
	for k, n := range e.work {
		lines = append(lines, line{k, n})
	}
	slices.SortFunc(lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.actor, b.actor), cmp.Compare(a.queue, b.queue), cmp.Compare(a.key, b.key))
	})
	var b strings.Builder
	for i, w := range lines {
		if i == 3 {
			break
		}
		fmt.Fprintf(&b, "\n  %s worked %d times on %s %s", w.actor, w.n, w.queue, w.key)
	}
	for _, entry := range e.trace.Tail(4) {
		fmt.Fprintf(&b, "\n  latest: %s", entry)
	}
	return fmt.Errorf("livelock: no rest after %d steps in %s of virtual time; who keeps working on what:%s",
		limit, e.Now().Sub(l.began).Round(time.Millisecond), b.String())
}
