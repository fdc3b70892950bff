package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/storagesim/storagesim/control"
)

// Entry is one record with its time and actor. Its String is a sentence.
type Entry struct {
	Time   time.Time
	Actor  string
	Record control.Record

	size int // in bytes, about
}

func (e Entry) String() string {
	return fmt.Sprintf("%s %s %s", e.Time.Format(time.TimeOnly), e.Actor, e.Record)
}

// Trace is what happened, oldest first. Both the number of records and the memory that
// they hold are bounded: beyond Config.TraceLimit and Config.TraceBytes the older ones
// are dropped. A write of a large object is kept as what it changed, see Write.
type Trace struct {
	limit, byteLimit int
	dropped, bytes   int
	entries          []Entry
}

// add drops the older half when a limit is passed, so that adding stays cheap.
func (t *Trace) add(entry Entry) {
	entry.size = sizeOf(entry.Record)
	for len(t.entries) > 0 && (len(t.entries) >= t.limit || t.bytes+entry.size > t.byteLimit) {
		half := len(t.entries)/2 + 1
		for _, old := range t.entries[:half] {
			t.bytes -= old.size
		}
		t.dropped += half
		t.entries = append([]Entry(nil), t.entries[half:]...)
	}
	if len(t.entries) == cap(t.entries) { // append alone would copy a long trace many times
		t.entries = slices.Grow(t.entries, min(max(len(t.entries), 64), t.limit))
	}
	t.bytes += entry.size
	t.entries = append(t.entries, entry)
}

// overhead is about what any record takes in memory.
const overhead = 200

// sizeOf is about how much memory a record holds. Of a write that is the new version of
// the object: the old one came with an earlier record.
func sizeOf(r control.Record) int {
	if w, ok := r.(Write); ok {
		return overhead + w.size
	}
	return overhead + len(r.String())
}

// Entries are the records kept. They are shared: do not change them.
func (t *Trace) Entries() []Entry { return t.entries }

// Dropped is how many early records were dropped.
func (t *Trace) Dropped() int { return t.dropped }

// Len is how many records there have been, dropped ones included.
func (t *Trace) Len() int { return t.dropped + len(t.entries) }

// Since are the records from number n on, as far as they are kept.
func (t *Trace) Since(n int) []Entry {
	return t.entries[min(max(n-t.dropped, 0), len(t.entries)):]
}

// Tail are the last n records.
func (t *Trace) Tail(n int) []Entry { return t.entries[max(len(t.entries)-n, 0):] }

// missing says what was dropped; empty if nothing was.
func (t *Trace) missing() string {
	if t.dropped == 0 {
		return ""
	}
	return fmt.Sprintf("(%d earlier records were dropped: the trace keeps at most %d records and about %d MiB)\n", t.dropped, t.limit, t.byteLimit>>20)
}

// String is one line a record. Before them it says how many were dropped, if any.
func (t *Trace) String() string {
	var b strings.Builder
	b.WriteString(t.missing())
	for _, entry := range t.entries {
		b.WriteString(entry.String())
		b.WriteByte('\n')
	}
	return b.String()
}

// Event is an API event.
type Event struct {
	About                 control.Ref
	Type, Reason, Message string
	// Repeated is true when the same was said before.
	Repeated bool
}

// Topic implements control.Record.
func (Event) Topic() string { return "event" }

func (v Event) String() string {
	return fmt.Sprintf("says of %s: %s %s: %s", v.About, v.Type, v.Reason, v.Message)
}

// Retry is a failed key put back.
type Retry struct {
	Queue, Key string
	// About is what the key stands for, such as "pvc default/data".
	About string
	Delay time.Duration
	Err   error
}

// Topic implements control.Record.
func (Retry) Topic() string { return "retry" }

func (r Retry) String() string {
	return fmt.Sprintf("will retry %s in %s: %v", r.About, r.Delay, r.Err)
}

// GaveUp is a key that failed too often.
type GaveUp struct {
	Queue, Key string
	// About is what the key stands for, such as "pvc default/data".
	About    string
	Failures int
	Err      error
}

// Topic implements control.Record.
func (GaveUp) Topic() string { return "retry" }

func (g GaveUp) String() string {
	return fmt.Sprintf("gives up %s after %d failures: %v", g.About, g.Failures, g.Err)
}

// Struck is a fault that hit a call.
type Struck struct {
	Call  string
	Fault Fault
}

// Topic implements control.Record.
func (Struck) Topic() string { return "fault" }

func (s Struck) String() string {
	when := "before"
	if s.Fault.After {
		when = "after"
	}
	switch {
	case s.Fault.Crash:
		return fmt.Sprintf("crashes %s: %s", when, s.Call)
	case s.Fault.Delay > 0:
		return fmt.Sprintf("waits %s for: %s", s.Fault.Delay, s.Call)
	}
	return fmt.Sprintf("is refused (%s it was carried out): %s: %v", when, s.Call, s.Fault.Err)
}

// Crashed is an actor's process that ended.
type Crashed struct {
	// Downtime is how long it takes to start again; 0 is at once.
	Downtime time.Duration
}

// Topic implements control.Record.
func (Crashed) Topic() string { return "fault" }

func (c Crashed) String() string {
	if c.Downtime > 0 {
		return fmt.Sprintf("is down for %s", c.Downtime)
	}
	return "is down"
}

// Restarted is an actor's process that began again, knowing nothing.
type Restarted struct{}

// Topic implements control.Record.
func (Restarted) Topic() string  { return "fault" }
func (Restarted) String() string { return "starts again" }
