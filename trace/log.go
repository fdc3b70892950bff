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

	size int // in bytes, about
}

func (e Entry) String() string {
	return fmt.Sprintf("%s %s %s", e.Time.Format(time.TimeOnly), e.Actor, e.Record)
}

// Log is what happened, oldest first. Both the number of records and the memory that
// they hold are bounded: beyond that the older ones are dropped. A write of a large
// object is kept as what it changed, see Write. It is safe for concurrent use: clients and
// programs write beside a live driver.
type Log struct {
	mu               sync.RWMutex
	limit, byteLimit int
	dropped, bytes   int
	entries          []Entry
}

// New makes a log that keeps at most limit records, which hold about byteLimit bytes.
// Both must be positive.
func New(limit, byteLimit int) *Log { return &Log{limit: limit, byteLimit: byteLimit} }

// Add adds a record. It drops the older half when a limit is passed, so that adding
// stays cheap.
func (t *Log) Add(entry Entry) {
	if w, ok := entry.Record.(Write); ok && w.isLarge() { // others stay where they are
		entry.Record = w.cutDown()
	}
	entry.size = sizeOf(entry.Record)
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

// overhead is about what any record takes in memory.
const overhead = 200

// sizeOf is about how much memory a record holds. Of a write that is the new version of
// the object: the old one came with an earlier record.
func sizeOf(r Record) int {
	switch r := r.(type) {
	case Write:
		return overhead + r.held()
	case Event: // the most frequent: its sentence is made when it is read
		return overhead + len(r.Reason) + len(r.Message)
	}
	return overhead + len(r.String())
}

// Entries returns the records kept. They are shared: do not change them.
func (t *Log) Entries() []Entry { return t.Since(0) }

// Dropped is how many early records were dropped.
func (t *Log) Dropped() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.dropped
}

// Len is how many records there have been, dropped ones included.
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
