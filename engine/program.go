package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/mayfail"
	"github.com/storagesim/storagesim/trace"
)

// ErrEnded is the answer to a call that a program makes after its process has ended.
var ErrEnded = errors.New("this process has ended")

// Program is code with goroutines of its own, for AddProgram. It gets a context that
// ends when its process is to end, and the API server as the process reaches it.
type Program func(ctx context.Context, server api.Handler) error

// AddProgram adds an actor whose code has goroutines of its own. Its program is called in
// a goroutine, and again for each later life of the process. Its calls are no steps of the
// engine: they are carried out in the goroutine that makes them, in the name of the
// actor, and faults strike them; a Delay takes real time.
//
// The process ends by Crash, by a fault, by Stop or Close, or because the program panics or
// returns: then it starts again as a process that panics does, each time later. When it
// ends, its context is cancelled and every call fails with ErrEnded. It starts again when
// the program has returned, or after Config.Blocked of virtual time at the latest.
//
// The engine must be driven in real time (package live) for the program to see time pass.
func (e *Engine) AddProgram(name string, program Program) error {
	if program == nil {
		return fmt.Errorf("actor %q needs a program", name)
	}
	return e.add(&actor{engine: e, name: name, program: program})
}

// Lingering returns the programs that had not returned when Close gave up waiting for them,
// sorted. Their goroutines are still there.
func (e *Engine) Lingering() []string { return e.lingering }

// process is one life of a program.
type process struct {
	actor    *actor
	ctx      context.Context // ends with the life
	end      context.CancelFunc
	returned chan struct{}
	onReturn func() // called between steps
}

// begin starts a life of the actor's program.
func (a *actor) begin() {
	ctx, end := context.WithCancel(context.Background())
	p := &process{actor: a, ctx: ctx, end: end, returned: make(chan struct{}), onReturn: func() {}}
	a.process = p
	go p.run()
}

// run calls the program and tells the engine how it ended.
func (p *process) run() {
	ending := trace.Exited{Aborted: true}
	defer func() {
		if thrown := recover(); thrown != nil {
			ending = trace.Exited{Panic: fmt.Sprint(thrown), At: panickedAt()}
		}
		close(p.returned)
		p.actor.engine.post(func() { p.over(ending) })
	}()
	err := p.actor.program(mayfail.With(p.ctx, p), &programGate{p.actor.engine.server, p})
	ending = trace.Exited{Err: err}
}

// over handles the end of the program. It is called between two steps.
func (p *process) over(ending trace.Exited) {
	a := p.actor
	if p.ctx.Err() != nil { // as it was told to
		p.onReturn()
		return
	}
	e := a.engine
	a.downtime, a.ended = a.loop.after(e.Now()), true
	ending.Restart = a.downtime
	e.record(a.name, ending)
	e.doomed = append(e.doomed, a)
}

// gone reports whether the program has returned.
func (p *process) gone() bool {
	select {
	case <-p.returned:
		return true
	default:
		return false
	}
}

// await calls then when the actor's last process has no code left that runs, or when it
// has ignored for too long that its context has ended.
func (a *actor) await(then func()) {
	p, life := a.process, a.life
	if p == nil || p.gone() {
		then()
		return
	}
	once := func() {
		if a.life == life {
			then()
		}
	}
	p.onReturn = once
	if limit := a.engine.cfg.Blocked; limit > 0 {
		a.engine.after(limit, never, func() {
			if a.life == life {
				a.engine.record(a.name, trace.Lingers{After: limit})
				once()
			}
		})
	}
}

// post has f called between two steps. Any goroutine may post.
func (e *Engine) post(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.posted = append(e.posted, f)
	if e.awaken != nil {
		e.awaken()
	}
}

// Between has f called between two steps of an engine that is driven by another goroutine, and waits for it. It reports whether f was called; if
// ctx ends before, it is not.
func (e *Engine) Between(ctx context.Context, f func()) bool {
	var mu sync.Mutex
	called := make(chan struct{})
	e.post(func() {
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() == nil {
			f()
			close(called)
		}
	})
	select {
	case <-called:
	case <-ctx.Done():
	}
	mu.Lock()
	defer mu.Unlock()
	return isClosed(called)
}

// takePosted takes the first of what was posted; e.mu must be held.
func (e *Engine) takePosted() (f func()) {
	if len(e.posted) > 0 {
		f = e.posted[0]
		e.posted = slices.Delete(e.posted, 0, 1)
	}
	return f
}

// awaitPrograms waits, when all processes have ended, until their programs have returned.
func (e *Engine) awaitPrograms() {
	var late <-chan time.Time
	expired := false
	if e.cfg.Blocked > 0 {
		timer := time.NewTimer(e.cfg.Blocked)
		defer timer.Stop()
		late = timer.C
	}
	for _, a := range e.actors {
		if a.process == nil {
			continue
		}
		if !expired {
			select {
			case <-a.process.returned:
			case <-late:
				expired = true
			}
		}
		if !a.process.gone() {
			e.lingering = append(e.lingering, a.name)
		}
	}
	slices.Sort(e.lingering)
}

// programGate is the API server as one life of a program reaches it.
type programGate struct {
	*api.Server
	process *process
}

// Do implements api.Handler.
func (g *programGate) Do(ctx context.Context, req api.Request) (obj runtime.Object, err error) {
	err = g.pass(ctx, &req, func() error {
		obj, err = g.Server.Do(ctx, req)
		return err
	})
	if err != nil {
		return nil, err
	}
	return obj, nil
}

// Watch implements api.Handler.
func (g *programGate) Watch(ctx context.Context, req api.Request) (w watch.Interface, err error) {
	err = g.pass(ctx, &req, func() error {
		w, err = g.Server.Watch(ctx, req)
		return err
	})
	if err == nil {
		return w, nil
	}
	if w != nil {
		w.Stop()
	}
	return nil, err
}

// pass makes a call, unless a fault strikes before, and says what the caller hears.
func (g *programGate) pass(ctx context.Context, req *api.Request, do func() error) error {
	req.Actor, req.Name = g.process.actor.name, req.ObjectName()
	if err := g.strike(ctx, req, false); err != nil {
		return err
	}
	answer := do()
	if err := g.strike(ctx, req, true); err != nil {
		return err
	}
	return answer
}

// strike carries out the fault that strikes a call, if there is one, and returns the error that the
// call gets.
func (g *programGate) strike(ctx context.Context, call *api.Request, after bool) error {
	p, e := g.process, g.process.actor.engine
	if p.ctx.Err() != nil {
		return ErrEnded
	}
	f := e.strike(call, 0, after)
	if f == nil {
		return nil
	}
	e.record(call.Actor, trace.Struck{Call: call.String(), After: f.After, Crash: f.Crash, Delay: f.Delay, Err: f.Err})
	switch {
	case f.Crash:
		p.die(f)
		return ErrEnded
	case f.Delay > 0:
		return p.wait(ctx, f.Delay)
	}
	return f.Err
}

// die ends the process at once; the engine is told between two steps.
func (p *process) die(f *Fault) {
	p.end()
	a := p.actor
	a.engine.post(func() {
		if a.process == p && !a.down {
			a.downtime, a.unawaited = f.Restart, f.Unawaited
			a.engine.doomed = append(a.engine.doomed, a)
		}
	})
}

// wait waits in real time, or until the caller or the process gives up.
func (p *process) wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-p.ctx.Done():
		return ErrEnded
	}
}
