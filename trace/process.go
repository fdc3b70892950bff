package trace

import (
	"fmt"
	"time"
)

// Struck is a fault that hit a call.
type Struck struct {
	// Call is the call, for example "update configmaps default/m".
	Call string
	// After is set if the server had carried the call out, and only the answer was hit.
	After bool
	// What happened: the caller's process crashed, the call took this long, or, if
	// neither is set, the caller got Err for an answer.
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

// Crashed is an actor's process that ended.
type Crashed struct {
	// Downtime is how long it takes to start again; 0 is at once.
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

// Restarted is an actor's process that began again, knowing nothing.
type Restarted struct{}

// Topic implements Record.
func (Restarted) Topic() string  { return "fault" }
func (Restarted) String() string { return "starts again" }

// Panicked is a process that ended because somebody's code in it panicked.
type Panicked struct {
	// Doing is what the code was called for, for example "Provision", and About the
	// object it was called for, if any. Value is what it panicked with, and At the
	// file, with its folder, and the line.
	Doing     string
	About     Ref
	Value, At string
	// Restart is how long the process stays down.
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

// Where says in which call and at which line, for example "Provision of pvc
// default/data, at mine/provisioner.go:12".
func (p Panicked) Where() string {
	call := p.Doing
	if p.About.Kind != "" {
		call += " of " + p.About.String()
	}
	return call + ", at " + p.At
}

// Stopped is an actor's process that was ended until somebody starts it again.
type Stopped struct{}

// Topic implements Record.
func (Stopped) Topic() string  { return "fault" }
func (Stopped) String() string { return "is stopped" }

// Exited is the end of a program that nobody had told to end: it panicked or returned.
type Exited struct {
	// Err is what it returned, if it returned. Panic is what it panicked with, if it did,
	// and At the file, with its folder, and the line. Aborted says that it ended its own
	// goroutine, as a test that fails does.
	Err       error
	Panic, At string
	Aborted   bool
	// Restart is how long the process stays down.
	Restart time.Duration
}

// Topic implements Record.
func (Exited) Topic() string { return "fault" }

func (x Exited) String() string {
	how := "returns nil before its context has ended"
	switch {
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

// Lingers is a program that goes on although its context has ended. Its process counts as
// killed: the API server refuses its calls, and the next process starts beside it.
type Lingers struct {
	// After is how long its context has ended.
	After time.Duration
}

// Topic implements Record.
func (Lingers) Topic() string { return "fault" }

func (l Lingers) String() string {
	return fmt.Sprintf("has not returned %s after its context ended: it ignores its context, and counts as killed", l.After)
}
