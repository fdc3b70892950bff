package store

import (
	"fmt"

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

	// due holds the numbers of the first changes that may concern it, as many as dues says; those from next to before until are to be
	// looked through after them. So the changes of one node's pods are found among those of all, and a cursor that is not read stays small.
	due         [4]uint64
	dues        int
	next, until uint64

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
	c.table.followers.add(c)
}

// wake tells the cursor that change n may concern it.
func (c *Cursor) wake(n uint64) {
	if c.dues < len(c.due) && c.next == c.until {
		c.due[c.dues] = n
		c.dues++
		c.next = n + 1
	}
	c.until = n + 1
	c.notify()
}

// idle reports whether there is nothing to look at.
func (c *Cursor) idle() bool { return c.dues == 0 && c.next == c.until }

// peek returns the number of the next change to look at, unless the cursor is idle.
func (c *Cursor) peek() uint64 {
	if c.dues > 0 {
		return c.due[0]
	}
	return c.next
}

// pass goes on to the change after that.
func (c *Cursor) pass() {
	if c.dues == 0 {
		c.next++
		return
	}
	c.dues--
	copy(c.due[:], c.due[1:])
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
	c.listed, c.dues, c.next = true, 0, c.until
	if c.table.Len() == 0 { // as most tables of most kinds
		return nil
	}
	var list []control.Item
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

// More reports whether there is a change that Next has not looked at, or an error that it has to tell. It may be a change of an
// object that is not selected.
func (c *Cursor) More() bool {
	c.store.RLock()
	defer c.store.RUnlock()
	return !c.stopped && (c.table.retired || !c.idle())
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
	for !c.idle() {
		n := c.peek()
		if n < log.first() {
			return control.Change{}, false, apierrors.NewResourceExpired(
				fmt.Sprintf("too old resource version: changes up to %d are forgotten", log.compacted))
		}
		c.pass()
		if change, ok := c.filter.see(log.at(n).Change); ok {
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
	c.table.followers.remove(c)
	c.table.bookmarkers = without(c.table.bookmarkers, c)
}
