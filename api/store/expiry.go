package store

import (
	"time"

	"github.com/storagesim/storagesim/api/internal/call"
)

// expiry knows when the objects of a table were last written, of which each lasts as long as the table's TTL. Readers do not see an object whose
// time is over, though it is stored until a write removes it: were it removed when it is read, to read would be a write.
type expiry struct {
	lifetimes map[string]*lifetime // by key, of each stored object; nil until there is one
	queue     []*lifetime          // in order of creation or latest check; some may be of objects that are gone
}

// lifetime is the time of one object, from its creation to its removal.
type lifetime struct {
	key     string
	written time.Time // when it was last written
}

// write notes that the object with this key was created or written again.
func (e *expiry) write(key string, now time.Time) {
	if known := e.lifetimes[key]; known != nil {
		known.written = now
		return
	}
	if e.lifetimes == nil {
		e.lifetimes = map[string]*lifetime{}
	}
	e.lifetimes[key] = &lifetime{key: key, written: now}
	e.queue = append(e.queue, e.lifetimes[key])
}

// expired reports whether the time of the object with this key is over.
func (t *Table) expired(key string) bool {
	if t.TTL == 0 {
		return false
	}
	known := t.expiry.lifetimes[key]
	return known != nil && t.store.cfg.Now().Sub(known.written) > t.TTL
}

// Sweep removes objects whose time is over. It looks at two at a time, those looked at longest ago: if each creation comes with a sweep, none is
// overlooked for long, and no call is slow.
func (t *Table) Sweep() {
	for range min(2, len(t.expiry.queue)) {
		next := t.expiry.queue[0]
		t.expiry.queue = t.expiry.queue[1:]
		switch {
		case t.expiry.lifetimes[next.key] != next: // it was deleted
		case t.expired(next.key):
			t.removeExpired(next.key)
		default:
			t.expiry.queue = append(t.expiry.queue, next)
		}
	}
}

// MakeRoom removes the object with this key if its time is over, so that another can have the name.
func (t *Table) MakeRoom(key string) {
	if t.expired(key) {
		t.removeExpired(key)
	}
}

func (t *Table) removeExpired(key string) {
	old := t.items[key]
	t.Remove(old, old.DeepCopyObject().(call.Object))
}
