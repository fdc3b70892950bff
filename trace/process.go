package trace

import (
	"fmt"
	"time"
)

// Struck is a fault that struck a call to the API server.
type Struck struct {
	// Call is the call, for example "update configmaps default/m".
	Call string
	// After is set if the server had carried the call out, and only the answer was lost.
	After bool
	// Crash is set if the caller's process crashed. Delay is the time that the call took longer.
	// If neither is set, the caller got Err as the answer.
	Crash bool
	Delay time.Duration
	Err   error
}

// Topic implements Record.
func (Struck) Topic() string { return "fault" }

func (s Struck) String() string {
	when := "before"
	if s.After {
		when = "after"
	}
	switch {
	case s.Crash:
		return fmt.Sprintf("crashes %s: %s", when, s.Call)
	case s.Delay > 0:
		return fmt.Sprintf("waits %s for: %s", s.Delay, s.Call)
	}
	return fmt.Sprintf("is refused (%s it was carried out): %s: %v", when, s.Call, s.Err)
}

// PointStruck is a fault that struck a point of an author's code (package mayfail).
type PointStruck struct {
	// Point is the name of the point.
	Point string
	// After is set if the function of the point was called before.
	After bool
	// Crash is set if the process crashed there. Delay is the time that passed, or that should have passed if Err is set,
	// too. Without Crash and Delay the code got Err.
	Crash bool
	Delay time.Duration
	Err   error
}

// Topic implements Record.
func (PointStruck) Topic() string { return "fault" }

func (s PointStruck) String() string {
	when := "before"
	if s.After {
		when = "after"
	}
	switch {
	case s.Crash:
		return fmt.Sprintf("crashes %s: point %s", when, s.Point)
	case s.Delay > 0 && s.Err != nil:
		return fmt.Sprintf("does not wait %s %s: point %s: %v", s.Delay, when, s.Point, s.Err)
	case s.Delay > 0:
		return fmt.Sprintf("waits %s %s: point %s", s.Delay, when, s.Point)
	}
	return fmt.Sprintf("gets an error (%s it was carried out): point %s: %v", when, s.Point, s.Err)
}

// Crashed says that an actor's process ended.
type Crashed struct {
	// Downtime is the time until it starts again; 0 means at once.
	Downtime time.Duration
}

// Topic implements Record.
func (Crashed) Topic() string { return "fault" }

func (c Crashed) String() string {
	if c.Downtime > 0 {
		return fmt.Sprintf("is down for %s", c.Downtime)
	}
	return "is down"
}

// Restarted says that an actor's process started again, with empty caches.
type Restarted struct{}

// Topic implements Record.
func (Restarted) Topic() string  { return "fault" }
func (Restarted) String() string { return "starts again" }

// Panicked says that a process ended because a user's code in it panicked.
type Panicked struct {
	// Doing is the call, for example "Provision", and About the
	// object of the call, if any. Value is the value of the panic, and At the
	// file, with its folder, and the line.
	Doing     string
	About     Ref
	Value, At string
	// Stack is the stack of the user's code. No story tells it.
	Stack string
	// Restart is the time until the process starts again.
	Restart time.Duration
}

// Topic implements Record.
func (Panicked) Topic() string { return "fault" }

func (p Panicked) String() string {
	again := "at once"
	if p.Restart > 0 {
		again = "in " + p.Restart.String()
	}
	return fmt.Sprintf("panics in %s: %s; its process ends, and starts again %s", p.Where(), p.Value, again)
}

// Where returns the call and the line, for example "Provision of pvc
// default/data, at mine/provisioner.go:12".
func (p Panicked) Where() string {
	call := p.Doing
	if p.About.Kind != "" {
		call += " of " + p.About.String()
	}
	return call + ", at " + p.At
}

// Blocks says that a user's code did not return for a long real time.
type Blocks struct {
	// Doing and About are as in Panicked.
	Doing string
	About Ref
	// Took is the real time, and Stack the stack of the code.
	Took  time.Duration
	Stack string
}

// Topic implements Record: stories leave it out, since an event says it.
func (Blocks) Topic() string    { return "call" }
func (b Blocks) String() string { return fmt.Sprintf("does not return from %s in %s", b.Doing, b.Took) }

// Held says that a cache of an actor falls behind.
type Held struct {
	// Actor is that of the cache of Resource.
	Actor, Resource string
	// For is the time for which the cache gets no changes. If Past is set, it lists what there is now if the actor starts
	// again meanwhile.
	For  time.Duration
	Past bool
}

// Topic implements Record.
func (Held) Topic() string { return "fault" }

func (h Held) String() string {
	text := fmt.Sprintf("now the cache of %s of %s gets no changes for %s", h.Resource, h.Actor, h.For)
	if h.Past {
		text += ", and lists what there is now"
	}
	return text
}

// Stopped says that an actor's process was ended until Cluster.Start.
type Stopped struct {
	// Off is set if its machine was switched off, with which containers and mounts end, too.
	Off bool
}

// Topic implements Record.
func (Stopped) Topic() string  { return "fault" }
func (Stopped) String() string { return "is stopped" }

// Exited says that a program panicked or returned by itself, or a controller ended its process.
type Exited struct {
	// Err is the error that it returned. Panic is the value of its panic, and At the file, with
	// its folder, and the line. Aborted is set if it ended its own
	// goroutine, as a failing test does.
	Err       error
	Panic, At string
	Aborted   bool
	// Itself is set if a controller ended its process, with Err as the reason: by os.Exit or,
	// with Panics, by a panic such as that of a nil pointer.
	Itself, Panics bool
	// Restart is the time until the process starts again.
	Restart time.Duration
}

// Topic implements Record.
func (Exited) Topic() string { return "fault" }

func (x Exited) String() string {
	how := "returns nil before its context has ended"
	switch {
	case x.Itself && x.Panics:
		how = fmt.Sprintf("panics, as upstream's: %v", x.Err)
	case x.Itself:
		how = fmt.Sprintf("ends by itself: %v", x.Err)
	case x.Aborted:
		how = "ends its goroutine (runtime.Goexit, as in a test that fails)"
	case x.At != "":
		how = fmt.Sprintf("panics at %s: %s", x.At, x.Panic)
	case x.Err != nil:
		how = fmt.Sprintf("returns an error: %v", x.Err)
	}
	again := "at once"
	if x.Restart > 0 {
		again = "in " + x.Restart.String()
	}
	return how + "; its process ends, and starts again " + again
}

// Lingers says that a program goes on although its context has ended. Its process counts as
// killed: the API server refuses its calls, and the next process starts beside it.
type Lingers struct {
	// After is the time since its context ended.
	After time.Duration
}

// Topic implements Record.
func (Lingers) Topic() string { return "fault" }

func (l Lingers) String() string {
	return fmt.Sprintf("has not returned %s after its context ended: it ignores its context, and counts as killed", l.After)
}
