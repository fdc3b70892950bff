package trace

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Entry is one record with its time and actor. Its String is a sentence.
type Entry struct {
	Time   time.Time
	Actor  string
	Record Record

	size int // approximate, in bytes
}

func (e Entry) String() string {
	return fmt.Sprintf("%s %s %s", e.Time.Format(time.TimeOnly), e.Actor, e.Record)
}

// Log holds records, oldest first. The number of records and their memory are bounded:
// beyond that the older ones are dropped. For a write of a large
// object it keeps the changed fields, see Write. It is safe for concurrent use: clients and
// programs write beside a live driver.
type Log struct {
	mu               sync.RWMutex
	limit, byteLimit int
	dropped, bytes   int
	entries          []Entry
	large            map[Ref]bool // the objects whose latest version is large
	deviations       []Deviates   // the first of each situation; never dropped
	values           bool         // KeepValues was called
	deliveries       []Delivery
	lostDeliveries   int // how many early ones were dropped
}

// New returns a log that keeps at most limit records, which take about byteLimit bytes.
// Both must be positive.
func New(limit, byteLimit int) *Log { return &Log{limit: limit, byteLimit: byteLimit} }

// Deviations returns the situations that arose in which the simulation does otherwise than upstream, in order.
func (t *Log) Deviations() []Deviates {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Clone(t.deviations)
}

// maxDeviations bounds what is kept: the names of programs in a pod's script are any.
const maxDeviations = 1000

// keepsDeviation keeps a record of a situation, and reports whether it is the first one.
func (t *Log) keepsDeviation(d Deviates) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, known := range t.deviations {
		if known.Situation == d.Situation && known.Of == d.Of {
			return false
		}
	}
	if len(t.deviations) >= maxDeviations {
		return false
	}
	t.deviations = append(t.deviations, d)
	return true
}

// Add adds a record; of the same Situation only the first. Beyond a limit it drops the older half, so that adding stays cheap.
func (t *Log) Add(entry Entry) {
	if d, ok := entry.Record.(Deviates); ok && !t.keepsDeviation(d) {
		return
	}
	if w, ok := entry.Record.(Write); ok {
		w, held := t.fitted(w)
		entry.size = overhead + held
		if w.compact {
			entry.Record = w
		}
	} else {
		entry.Record = t.Weigh(entry.Record)
		entry.size = sizeOf(entry.Record)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
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

// overhead is the approximate size of a record without its texts and objects.
const overhead = 200

// sizeOf returns the approximate memory of a record that is no write, in bytes.
func sizeOf(r Record) int {
	switch r := r.(type) {
	case Decision:
		return overhead + len(r.Text) + r.Choice.size()
	case Event: // the most frequent: its sentence is made when it is read
		return overhead + len(r.Reason) + len(r.Message)
	}
	return overhead + len(r.String())
}

// Entries returns the records kept. They are shared: do not change them.
func (t *Log) Entries() []Entry { return t.Since(0) }

// Dropped returns the number of early records that were dropped.
func (t *Log) Dropped() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.dropped
}

// Len returns the number of records added so far, dropped ones included.
func (t *Log) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.dropped + len(t.entries)
}

// Since returns the records from number n on, as far as they are kept.
func (t *Log) Since(n int) []Entry {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.entries[min(max(n-t.dropped, 0), len(t.entries)):]
}

// Page returns at most limit records from number n on, or from the first one that is kept, and the
// number of the first of them.
func (t *Log) Page(n, limit int) (first int, entries []Entry) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	first = min(max(n, t.dropped), t.dropped+len(t.entries))
	entries = t.entries[first-t.dropped:]
	return first, entries[:min(limit, len(entries))]
}

// Tail returns the last n records.
func (t *Log) Tail(n int) []Entry {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.entries[max(len(t.entries)-n, 0):]
}

// missing says what was dropped; empty if nothing was.
func (t *Log) missing() string {
	if t.dropped == 0 {
		return ""
	}
	return fmt.Sprintf("(%d earlier records were dropped: the trace keeps at most %d records and about %d MiB)\n", t.dropped, t.limit, t.byteLimit>>20)
}

// String returns one line a record. Before them it says how many were dropped, if any.
func (t *Log) String() string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var b strings.Builder
	b.WriteString(t.missing())
	for _, entry := range t.entries {
		b.WriteString(entry.String())
		b.WriteByte('\n')
	}
	return b.String()
}
