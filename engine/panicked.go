package engine

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/stacks"
	"github.com/storagesim/storagesim/trace"
)

// The pace at which a process that ends by a panic is started again: at once, and then
// after 10s, 20s, and so on up to 5 minutes. A process that has run for 10 minutes
// begins anew.
//
// Upstream: kubelet.go initialCrashLoopBackOff and MaxCrashLoopBackOff, and client-go
// util/flowcontrol Backoff, v1.37.
const (
	crashLoopBase  = 10 * time.Second
	crashLoopMax   = 5 * time.Minute
	crashLoopReset = 2 * crashLoopMax
)

// crashLoop records how often the process of an actor has ended by itself lately.
type crashLoop struct {
	last time.Time
	next time.Duration // the backoff after the next end
}

// after returns the time until the process starts again, for a process that ends at now.
func (c *crashLoop) after(now time.Time) time.Duration {
	if c.next == 0 || now.Sub(c.last) > crashLoopReset {
		c.next = 0
	}
	delay := c.next
	c.last = now.Add(delay)
	c.next = min(max(2*c.next, crashLoopBase), crashLoopMax)
	return delay
}

// panicked ends the actor's process because code that is not its own has panicked.
// It must be called by what recovered from the panic, and unwinds the task.
func (t *task) panicked(doing string, about trace.Ref, value any, at string) {
	a, e := t.actor, t.actor.engine
	a.downtime, a.ended = a.loop.after(e.Now()), true
	e.record(a.name, trace.Panicked{Doing: doing, About: about, Value: fmt.Sprint(value), At: at, Stack: stacks.OfPanic(), Restart: a.downtime})
	e.doomed = append(e.doomed, a)
	t.dead = true
	panic(crashed{a.name})
}

// End implements control.Ender.
func (v *env) End(ending control.Ending) {
	t := v.task("End")
	a, e := t.actor, t.actor.engine
	a.downtime, a.ended, a.unawaited = a.loop.after(e.Now()), true, ending.Background
	e.record(a.name, trace.Exited{Err: errors.New(ending.Why), Itself: true, Panics: ending.Panics, Restart: a.downtime})
	e.doomed = append(e.doomed, a)
	t.dead = true
	panic(crashed{a.name})
}

// panickedAt returns the position of the panic that the calling deferred function has
// recovered from.
func panickedAt() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	thrown := false
	for {
		frame, more := frames.Next()
		inRuntime := strings.HasPrefix(frame.Function, "runtime.")
		if thrown && !inRuntime {
			file := filepath.ToSlash(frame.File)
			return fmt.Sprintf("%s:%d", path.Join(path.Base(path.Dir(file)), path.Base(file)), frame.Line)
		}
		thrown = thrown || frame.Function == "runtime.gopanic"
		if !more {
			return "an unknown place"
		}
	}
}
