package trace

import (
	"fmt"
	"time"
)

// Decision is a choice that a controller made, with the reason.
type Decision struct {
	About Ref
	Text  string
	// Choice has the values, such as the nodes and their scores. It is nil unless the log keeps values (Log.KeepValues), and for a decision that
	// has none.
	Choice *Choice
	// Weigh, if set, returns the Choice. A log that keeps values calls it at once, any other drops it.
	Weigh func() *Choice
}

// Topic implements Record.
func (Decision) Topic() string { return "decision" }

func (d Decision) String() string { return fmt.Sprintf("%s: %s", d.About, d.Text) }

// Event is an API event.
type Event struct {
	About                 Ref
	Type, Reason, Message string
	// Repeated is set if the same event was recorded before.
	Repeated bool
	// Dropped is set if no object was written: a recorder sends 25 events of a type about an object, then one in five minutes.
	Dropped bool
	// Combined is set if the object tells of similar events, of which this is one.
	Combined bool
}

// Topic implements Record.
func (Event) Topic() string { return "event" }

func (v Event) String() string {
	if v.Dropped {
		return fmt.Sprintf("keeps back an event, one of too many about %s: %s %s: %s", v.About, v.Type, v.Reason, v.Message)
	}
	return fmt.Sprintf("says of %s: %s %s: %s", v.About, v.Type, v.Reason, v.Message)
}

// Retry says that a key failed and was queued again.
type Retry struct {
	Queue, Key string
	// About names the object of the key, such as "pvc default/data".
	About string
	Delay time.Duration
	Err   error
}

// Topic implements Record.
func (Retry) Topic() string { return "retry" }

func (r Retry) String() string {
	return fmt.Sprintf("will retry %s in %s: %v", r.About, r.Delay, r.Err)
}

// GaveUp says that a key failed too often and was dropped.
type GaveUp struct {
	Queue, Key string
	// About names the object of the key, such as "pvc default/data".
	About    string
	Failures int
	Err      error
}

// Topic implements Record.
func (GaveUp) Topic() string { return "retry" }

func (g GaveUp) String() string {
	return fmt.Sprintf("gives up %s after %d failures: %v", g.About, g.Failures, g.Err)
}
