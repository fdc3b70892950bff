package engine

import (
	"context"
	"slices"
	"time"

	"github.com/storagesim/storagesim/control"
)

// InRealTime sets whether virtual time goes with that of the machine from now on. If it does, a task
// that waits for an answer from outside (control.Outside) is parked, and others go on
// meanwhile; otherwise the engine waits with it. Package live sets it.
func (e *Engine) InRealTime(real bool) { e.realTime = real }

// IsLive implements control.Outside.
func (v *env) IsLive() bool { return v.engine().realTime }

// Await implements control.Outside.
func (v *env) Await(ctx context.Context, ask func() <-chan struct{}) bool {
	t := v.task("Await")
	t.pause()
	answered := ask()
	if answered == nil || isClosed(answered) {
		return true
	}
	if v.engine().realTime {
		return v.parkFor(ctx, t, answered)
	}
	return v.engine().within(answered)
}

// call is one that a task is parked for.
type call struct {
	task     *task
	answered <-chan struct{}
	over, ok bool
}

// end wakes the task, once.
func (c *call) end(ok bool) {
	if !c.over {
		c.over, c.ok = true, ok
		c.task.wake()
	}
}

// parkFor parks the task until the answer comes, or until the time that its context leaves has
// passed.
func (v *env) parkFor(ctx context.Context, t *task, answered <-chan struct{}) bool {
	e, c := v.engine(), &call{task: t, answered: answered}
	e.calls = append(e.calls, c)
	defer func() { // also if the process ends
		c.over = true
		e.calls = slices.DeleteFunc(e.calls, func(other *call) bool { return other == c })
	}()
	if left, ends := control.Remaining(ctx, e.Now()); ends {
		timer := v.actor.after(left, always, func() { c.end(false) })
		defer e.cancel(timer)
	}
	go func() {
		<-answered // the caller makes sure that this ends
		e.post(func() { c.end(true) })
	}()
	t.park()
	return c.ok
}

// answer waits for the oldest call that a task is parked for, and wakes the task. It
// reports false if there is none. While time is real it waits for none.
func (e *Engine) answer() bool {
	if e.realTime || len(e.calls) == 0 {
		return false
	}
	c := e.calls[0]
	c.end(e.within(c.answered))
	e.calls = e.calls[1:]
	return true
}

// within waits until a channel is closed, and reports whether it is: in real time for at most
// Config.Blocked, for ever if that is negative, and not after Interrupt.
func (e *Engine) within(done <-chan struct{}) bool {
	var late <-chan time.Time
	if limit := e.cfg.Blocked; limit >= 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-done:
		return true
	case <-late:
	case <-e.halt:
	}
	return false
}

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
