package api

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/control"
)

// Cursor is a position in the log of one resource, from which a watch reads. A cursor
// that is never read costs nothing: it neither buffers nor blocks a writer. It is
// for one reader at a time.
type Cursor struct {
	server *Server
	store  *store
	filter filter
	notify func()

	next     uint64 // number of the next change to look at
	idle     bool   // nothing to look at: next is set by the next change that may concern it
	listed   bool
	stopped  bool
	bookmark bool // a bookmark is due
}

// Follow makes a cursor over those objects of a resource that sel selects. It
// starts before the first list: call List, then Next until it has nothing.
//
// notify is called whenever a change is appended that the selector could
// concern. It is called while the server is locked: it must be quick, and must
// not call the server or the cursor. An unknown resource, until its kind is registered, and a field
// that the resource cannot be selected by, select nothing.
func (s *Server) Follow(gvr schema.GroupVersionResource, sel Selector, notify func()) *Cursor {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.followed(gvr)
	c := &Cursor{server: s, store: st, filter: newFilter(st.kind, sel), notify: notify}
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
	c.store.followers[b] = append(c.store.followers[b], c)
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
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if c.store.retired && !c.stopped {
		c.store = c.server.followed(c.store.kind.GVR)
		c.filter = newFilter(c.store.kind, c.filter.Selector)
		c.follow()
	}
	c.listed, c.idle = true, true
	list := []control.Item{}
	for k, obj := range c.store.selected(&c.filter) {
		list = append(list, control.Item{Key: k, Object: obj})
	}
	return list
}

// Next returns the next change, false if there is none yet. The error is 410 Gone
// (apierrors.IsResourceExpired) when the log no longer has what comes next, and
// before the first List: List, then go on.
func (c *Cursor) Next() (control.Change, bool, error) {
	c.server.mu.RLock()
	defer c.server.mu.RUnlock()
	return c.advance()
}

func (c *Cursor) advance() (control.Change, bool, error) {
	log := &c.store.log
	switch {
	case c.stopped:
		return control.Change{}, false, nil
	case !c.listed:
		return control.Change{}, false, apierrors.NewResourceExpired("nothing was listed yet")
	case c.store.retired:
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
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if c.stopped {
		return
	}
	c.stopped = true
	without := func(cursors []*Cursor) []*Cursor {
		return slices.DeleteFunc(cursors, func(other *Cursor) bool { return other == c })
	}
	b := c.filter.bucket
	if rest := without(c.store.followers[b]); len(rest) > 0 {
		c.store.followers[b] = rest
	} else {
		delete(c.store.followers, b)
	}
	c.store.bookmarkers = without(c.store.bookmarkers)
}
