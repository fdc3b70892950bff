package engine

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/fault"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/trace"
)

// Start returns the first moment of virtual time, the default of Config.Start.
func Start() time.Time { return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) }

// Config configures an Engine. The zero value works, and a field that is not
// positive has its default.
type Config struct {
	// Start is the first moment of virtual time; default Start.
	Start time.Time
	// Policy chooses among enabled steps; default InOrder.
	Policy Policy
	// Patience is the time that a retry's backoff may grow, or that a key may fail with the longest backoff
	// it can have, before Settle stops waiting for it; default one minute.
	Patience time.Duration
	// Phase moves all periodic work (Env.Every) forward: the first round comes
	// after one period less Phase. Default 0. It stands for a cluster that was
	// already running when the story began.
	Phase time.Duration
	// StepLimit is the number of steps one call of Settle, or a minute of virtual time
	// in RunFor and RunUntil, may take before it is reported as a livelock; default
	// 300,000, and 2,000 more for every object that is in the store when the call or
	// the minute begins.
	StepLimit int
	// TraceLimit is the number of records the trace keeps, the latest; default
	// 1,000,000.
	TraceLimit int
	// TraceBytes is about how much memory the records of the trace may hold, in bytes;
	// default 1 GiB. The latest are kept.
	TraceBytes int
	// RecordValues makes the trace keep what only views ask for: see trace.Log.KeepValues.
	RecordValues bool
	// Seed makes the UIDs and generated names of the API server.
	Seed uint64
	// Server configures the API server. Its Now and Seed are the engine's.
	Server api.Config
	// Blocked is the real time that one step of code that is not the
	// actors' own (control.Foreign: a provisioner) may take before the engine
	// gives up on it; default 30 s, negative for ever. It is also the time that a program
	// (AddProgram) has to return after its context has ended.
	Blocked time.Duration
}

// Engine drives actors against one API server. It is not safe for concurrent
// use; the server's clients are, also while the engine runs, although then the
// run depends on the goroutines' timing and cannot be repeated.
type Engine struct {
	cfg    Config
	picker Picker // the policy, if it is one
	// ordered: the policy is not asked.
	ordered bool
	server  *api.Server

	actors []*actor
	byName map[string]*actor
	// current is the running task. Goroutines beside the engine may read it.
	current atomic.Pointer[task]
	// built is the actor whose factory runs, nil if none does. No task runs meanwhile.
	built atomic.Pointer[actor]
	acted string  // the actor of the last step
	last  *task   // ran last and can go on
	tasks []*task // can run, in the order they became able to
	idle  []*coroutine

	timers   timers
	timerSeq uint64
	faults   fault.Script[*Fault]
	points   points
	choices  []uint32
	// alternatives numbers the steps that a policy chose among. In a key ID is 0.
	alternatives map[Alternative]int
	onCall       func(number int, call *api.Request)
	counted      int // calls since OnCall

	window uint64          // counts the times that a stepLimit has begun to look at
	work   map[workKey]int // in the latest, of keys that their queue has forgotten
	steps  atomic.Uint64
	err    error // the first failure of an actor's own code
	said   map[saidKey]bool
	busy   bool       // a step is being taken
	doomed []*actor   // crash when it is over
	calls  []*call    // that tasks are parked for, oldest first
	moment *stepLimit // of the last call of RunFor
	// realTime is set while virtual time goes with that of the machine.
	realTime bool
	closed   bool
	stopped  atomic.Bool   // by Interrupt
	halt     chan struct{} // closed by Interrupt

	lingering []string // see Lingering

	mu     sync.Mutex // guards what a client's write touches, and the clock it reads
	now    time.Time
	ready  []*feed  // have changes to deliver, in the order they came
	posted []func() // to be called between two steps
	awaken func()   // told when ready or posted grows
	world  uint64   // counts changes that an actor might see
	trace  *trace.Log
}

// New makes an engine with an API server of its own and no actors.
func New(cfg Config) *Engine {
	if cfg.Start.IsZero() {
		cfg.Start = Start()
	}
	if cfg.Policy == nil {
		cfg.Policy = InOrder()
	}
	if cfg.Patience <= 0 {
		cfg.Patience = time.Minute
	}
	if cfg.Blocked == 0 {
		cfg.Blocked = 30 * time.Second
	}
	if cfg.TraceLimit <= 0 {
		cfg.TraceLimit = 1_000_000
	}
	e := &Engine{cfg: cfg, now: cfg.Start.UTC(), byName: map[string]*actor{}, work: map[workKey]int{}, said: map[saidKey]bool{}, halt: make(chan struct{})}
	if cfg.TraceBytes <= 0 {
		cfg.TraceBytes = 1 << 30
	}
	e.trace = trace.New(cfg.TraceLimit, cfg.TraceBytes)
	if cfg.RecordValues {
		e.trace.KeepValues()
	}
	e.picker, _ = cfg.Policy.(Picker)
	cfg.Server.Now, cfg.Server.Seed = e.Now, cfg.Seed
	e.server = api.NewServer(cfg.Server)
	e.server.OnWrite(e.observe)
	return e
}

// Server returns the API server.
func (e *Engine) Server() *api.Server { return e.server }

// Now returns the virtual time.
func (e *Engine) Now() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.now
}

// NextTimer returns the time of the earliest timer, background ones included; false if
// there is none.
func (e *Engine) NextTimer() (time.Time, bool) {
	if len(e.timers) == 0 {
		return time.Time{}, false
	}
	return e.timers[0].at, true
}

// OnReady sets a function that is called, in the goroutine of the writer, whenever a write gives an
// actor's cache a change to deliver: f must not block or use the engine.
// Package live drives the engine with it. nil removes it.
func (e *Engine) OnReady(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.awaken = f
}

// Driven reports whether OnReady has set a function: package live drives the engine, and its goroutine alone may use it.
func (e *Engine) Driven() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.awaken != nil
}

// advance moves the clock; it never goes back.
func (e *Engine) advance(to time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if to.After(e.now) {
		e.now = to
	}
}

// record adds to the trace.
func (e *Engine) record(actor string, r trace.Record) {
	r = e.trace.Weigh(r) // it may look at what e.mu guards
	e.mu.Lock()
	defer e.mu.Unlock()
	e.trace.Add(trace.Entry{Time: e.now, Actor: actor, Record: r})
}

// Record adds a record of the running actor to the trace, about something outside of the API, such
// as a full disk. outside is the actor of the record if no actor's code runs, nor its factory. Any goroutine
// may call it; a call from another goroutine counts for the running actor.
func (e *Engine) Record(outside string, r trace.Record) {
	if t := e.current.Load(); t != nil {
		outside = t.actor.name
	} else if a := e.built.Load(); a != nil {
		outside = a.name
	}
	e.record(outside, r)
}

// Steps returns the number of steps that were taken so far. Any goroutine may call it.
func (e *Engine) Steps() uint64 { return e.steps.Load() }

// Trace returns what has happened so far.
func (e *Engine) Trace() *trace.Log { return e.trace }

// Choices returns the choices made so far where there was one, for Replay.
func (e *Engine) Choices() []uint32 { return e.choices }

// Add builds an actor and starts it. Names are unique.
func (e *Engine) Add(name string, factory control.Factory) error {
	if name != "" && factory == nil {
		return fmt.Errorf("actor %q needs a factory", name)
	}
	return e.add(&actor{engine: e, name: name, factory: factory})
}

func (e *Engine) add(a *actor) error {
	switch _, exists := e.byName[a.name]; {
	case e.closed:
		return ErrClosed
	case a.name == "":
		return errors.New("an actor needs a name")
	case exists:
		return fmt.Errorf("actor %q exists already", a.name)
	}
	if err := a.start(); err != nil {
		a.stop()
		return fmt.Errorf("actor %s: %w", a.name, err)
	}
	e.mu.Lock()
	e.actors = append(e.actors, a)
	e.mu.Unlock()
	e.byName[a.name] = a
	return nil
}

// Actors returns the names of all actors, in the order they were added. It may be called beside the engine, as by an observer of what
// clients write.
func (e *Engine) Actors() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	names := make([]string, len(e.actors))
	for i, a := range e.actors {
		names[i] = a.name
	}
	return names
}

// ErrClosed is the answer of an engine after Close.
var ErrClosed = errors.New("the engine is closed")

// ErrInterrupted is the answer of an engine after Interrupt.
var ErrInterrupted = errors.New("interrupted")

// Interrupt ends the call of Step, Settle, RunFor or RunUntil that is under way
// after its present step, and every later one at once, with ErrInterrupted. A step that waits for
// an answer from outside, or for foreign code, waits no longer. It
// may be called from any goroutine, for example when the user presses Ctrl-C.
func (e *Engine) Interrupt() {
	if e.stopped.CompareAndSwap(false, true) {
		close(e.halt)
	}
}

// Close ends all actors and frees their coroutines. It waits until programs (AddProgram)
// have returned, for Config.Blocked at most; Lingering names those that have not. The
// API server's objects and the trace can still be read.
func (e *Engine) Close() {
	if e.closed {
		return
	}
	e.closed = true
	for _, a := range e.actors {
		a.stop()
	}
	for _, c := range e.idle {
		c.stop()
	}
	e.idle = nil
	e.awaitPrograms()
}

func (e *Engine) actor(name string) (*actor, error) {
	if a, ok := e.byName[name]; ok {
		return a, nil
	}
	return nil, fmt.Errorf("no actor is called %q%s", name, prose.OneOf(name, e.Actors()))
}

// fail remembers the first failure, which ends the run.
func (e *Engine) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// source names a list that holds alternatives of the next step.
type source int

const (
	lastTask   source = iota // the task that ran last, if it can go on
	deliveries               // Engine.ready
	otherTasks               // Engine.tasks
)

// locate returns the list of the i-th alternative of the next step, and its index there. ready is
// the length of Engine.ready.
func (e *Engine) locate(i, ready int) (source, int) {
	if e.last != nil {
		if i == 0 {
			return lastTask, 0
		}
		i--
	}
	if i < ready {
		return deliveries, i
	}
	return otherTasks, i - ready
}

// alternative describes the i-th alternative of the next step.
func (e *Engine) alternative(i int) Alternative {
	e.mu.Lock()
	defer e.mu.Unlock()
	from, i := e.locate(i, len(e.ready))
	switch from {
	case lastTask:
		return e.numbered(&e.last.step, Alternative{Actor: e.last.actor.name, Does: e.last.name})
	case deliveries:
		f := e.ready[i]
		return e.numbered(&f.step, Alternative{Actor: f.actor.name, Hears: f.target.Source().Resource.Resource})
	}
	t := e.tasks[i]
	return e.numbered(&t.step, Alternative{Actor: t.actor.name, Does: t.name})
}

// numbered returns a with its ID. A task or feed keeps it in step, as 1 more, so that it is looked up once.
func (e *Engine) numbered(step *int, a Alternative) Alternative {
	if *step == 0 {
		id, known := e.alternatives[a]
		if !known {
			if e.alternatives == nil {
				e.alternatives = map[Alternative]int{}
			}
			id = len(e.alternatives)
			e.alternatives[a] = id
		}
		*step = id + 1
	}
	a.ID = *step - 1
	return a
}

// choose asks the policy, and records the answer where there was a choice.
func (e *Engine) choose(n int) int {
	if n <= 1 || e.ordered {
		return 0
	}
	return e.chosen(n, e.cfg.Policy.Choose(n))
}

// chooseStep chooses the next step, as choose does.
func (e *Engine) chooseStep(n int) int {
	if n <= 1 || e.picker == nil || e.ordered {
		return e.choose(n)
	}
	return e.chosen(n, e.picker.Pick(n, e.alternative))
}

// chosen returns the policy's choice, once it is checked and recorded.
func (e *Engine) chosen(n, c int) int {
	if c < 0 || c >= n {
		e.fail(fmt.Errorf("the policy chose alternative %d of %d", c, n))
		c = 0
	}
	if _, plain := e.cfg.Policy.(inOrder); !plain {
		e.choices = append(e.choices, uint32(c))
	}
	return c
}

// observe handles every write at the API server.
func (e *Engine) observe(w trace.Write) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if w.Resource.Resource == "events" { // what is said of the world does not change it
		e.saidByClient(w)
		return
	}
	if isHeartbeat(w) {
		return
	}
	if w.Err == nil && w.Old != w.New {
		e.world++
	}
	e.trace.Add(trace.Entry{Time: e.now, Actor: w.Actor, Record: w})
}

// isHeartbeat reports whether a request, carried out or refused, was no more than a sign of
// life of a node.
func isHeartbeat(w trace.Write) bool {
	if w.Resource.Resource == "leases" && w.Namespace == v1.NamespaceNodeLease {
		return true
	}
	return w.Err == nil && trace.IsHeartbeat(w.Old, w.New)
}
