package call

import (
	"context"
	"errors"
	"runtime"
	"time"

	"google.golang.org/grpc/status"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/stacks"
	"github.com/storagesim/storagesim/mayfail"
	"github.com/storagesim/storagesim/trace"
)

// handling is a handler's call, as the hook of its points (package mayfail).
type handling struct {
	listener *Listener
	method   string
	running  stacks.Mark
}

var _ mayfail.Hook = (*handling)(nil)

// pointsOf returns the context of a handler: faults strike its points if the server belongs to an actor.
func (l *Listener) pointsOf(ctx context.Context, method string, running stacks.Mark) context.Context {
	if _, ok := l.socket.Env.(control.Points); !ok {
		return ctx
	}
	return mayfail.With(ctx, &handling{l, method, running})
}

// Reach implements mayfail.Hook.
func (h *handling) Reach(ctx context.Context, name string, f func() error) error {
	if err := mayfail.Check(name); err != nil {
		return err
	}
	env := h.listener.socket.Env
	fault := env.(control.Points).ReachPoint(name) // pointsOf has looked
	return fault.At(f, func(f *control.PointFault) error {
		env.Trace(trace.PointStruck{Point: name, After: f.After, Crash: f.Crash, Delay: f.Delay, Err: f.Err})
		switch {
		case f.Crash:
			h.crash(name, f)
		case f.Delay > 0:
			return h.wait(ctx, f.Delay)
		}
		return f.Err
	})
}

// wait delays the answer of the handler. In a live run the handler itself waits.
func (h *handling) wait(ctx context.Context, d time.Duration) error {
	l := h.listener
	if outside, ok := l.socket.Env.(control.Outside); !ok || !outside.IsLive() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.late += d
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// crash ends the handler's goroutine, and with it, once its deferred functions are done, the driver's process.
func (h *handling) crash(name string, f *control.PointFault) {
	l := h.listener
	when := "before"
	if f.After {
		when = "after"
	}
	l.mu.Lock()
	l.failure = &failure{method: h.method, planned: &Fault{Crash: true, Restart: f.Restart}, words: "the driver crashes " + when + " its point " + name}
	l.mu.Unlock()
	if !h.running.IsHere() { // it does not unwind the handler
		l.breakCalls()
	}
	runtime.Goexit()
}

// takeLate returns the time that points have delayed the answer of a handler, and forgets it.
func (l *Listener) takeLate() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	late := l.late
	l.late = 0
	return late
}

// crashed ends the process of a server whose handler has crashed at a point, and returns the error for the caller.
func (c *invocation) crashed(l *Listener, f *failure) error {
	c.fault = f.words
	l.Kill()
	if l.socket.Crash != nil {
		l.socket.Crash(*f.planned)
	}
	return errBroken()
}

// delayed passes the time by which points have delayed the answer. It returns an error if the caller does not wait so
// long.
func (c *invocation) delayed(l *Listener) error {
	late := l.takeLate()
	if late == 0 {
		return nil
	}
	c.fault, c.would = "it takes "+late.String(), errBroken()
	if ended := c.env.Sleep(c.ctx, late); ended != nil {
		if errors.Is(ended, context.DeadlineExceeded) {
			c.fault = "the driver answers after " + late.String()
		}
		return status.FromContextError(ended).Err()
	}
	return nil
}
