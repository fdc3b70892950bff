package store

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/storagesim/storagesim/control"
)

// Cursor is a position in the log of one resource, from which a watch reads. A cursor
// that is never read costs nothing: it neither buffers nor blocks a writer. It is
// for one reader at a time.
type Cursor struct {
	store  *Store
	table  *Table
	filter filter
	notify func()

	next     uint64 // number of the next change to look at
	idle     bool   // nothing to look at: next is set by the next change that may concern it
	listed   bool
	stopped  bool
	bookmark bool // a bookmark is due
}

// Follow makes a cursor over those objects that sel selects. It starts before the first list: call List, then Next until it has
// nothing. notify is called whenever a change is appended that the selector could concern. It is called with the lock: it must
// be quick, and must not call the store or the cursor.
func (t *Table) Follow(sel Selector, notify func()) *Cursor {
	c := &Cursor{store: t.store, table: t, filter: newFilter(t.Fields, sel), notify: notify}
	c.follow()
	return c
}

// follow registers the cursor where publish finds it.
func (c *Cursor) follow() {
	if c.notify == nil {
		c.notify = func() {}
	}
	b := c.filter.bucket
	c.idle = true
	c.table.followers[b] = append(c.table.followers[b], c)
}

// wake tells the cursor that change n may concern it.
func (c *Cursor) wake(n uint64) {
	if c.idle {
		c.idle, c.next = false, n
	}
	c.notify()
}

// List returns all selected objects, shared and in order of key. It moves the cursor
// to now: Next continues from here.
func (c *Cursor) List() []control.Item {
	c.store.Lock()
	defer c.store.Unlock()
	if c.table.retired && !c.stopped {
		c.table = c.store.cfg.Reopen(c.table.Name)
		c.filter = newFilter(c.table.Fields, c.filter.Selector)
		c.follow()
	}
	c.listed, c.idle = true, true
	list := []control.Item{}
	if c.table.Len() == 0 { // as most tables of most kinds
		return list
	}
	for k, obj := range c.table.selected(&c.filter) {
		list = append(list, control.Item{Key: k, Object: obj})
	}
	return list
}

// Next returns the next change, false if there is none yet. The error is 410 Gone
// (apierrors.IsResourceExpired) when the log no longer has what comes next, and
// before the first List: List, then go on.
func (c *Cursor) Next() (control.Change, bool, error) {
	c.store.RLock()
	defer c.store.RUnlock()
	return c.advance()
}

func (c *Cursor) advance() (control.Change, bool, error) {
	log := &c.table.log
	switch {
	case c.stopped:
		return control.Change{}, false, nil
	case !c.listed:
		return control.Change{}, false, apierrors.NewResourceExpired("nothing was listed yet")
	case c.table.retired:
		return control.Change{}, false, apierrors.NewResourceExpired("the kind of the objects is no longer what it was")
	}
	for !c.idle {
		if c.next < log.first() {
			return control.Change{}, false, apierrors.NewResourceExpired(
				fmt.Sprintf("too old resource version: changes up to %d are forgotten", log.compacted))
		}
		if c.next == log.next {
			c.idle = true
			break
		}
		c.next++
		if change, ok := c.filter.see(*log.at(c.next - 1)); ok {
			return change, true, nil
		}
	}
	return control.Change{}, false, nil
}

// Stop ends the cursor. It is not notified any more.
func (c *Cursor) Stop() {
	c.store.Lock()
	defer c.store.Unlock()
	if c.stopped {
		return
	}
	c.stopped = true
	without := func(cursors []*Cursor) []*Cursor {
		return slices.DeleteFunc(cursors, func(other *Cursor) bool { return other == c })
	}
	b := c.filter.bucket
	if rest := without(c.table.followers[b]); len(rest) > 0 {
		c.table.followers[b] = rest
	} else {
		delete(c.table.followers, b)
	}
	c.table.bookmarkers = without(c.table.bookmarkers)
}
