package engine

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/fields"

	"github.com/storagesim/storagesim/api/store"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/trace"
)

// feed delivers one resource's changes to one subscriber of an actor: what a
// reflector is in client-go.
type feed struct {
	actor  *actor
	target control.Feed
	cursor *store.Cursor
	listed bool
	queued bool  // in engine.ready
	missed bool  // changes came while it was held back
	past   *past // what its first list is, if not that of its time
	step   int   // see Engine.numbered
}

// follow subscribes target. Its first list is a step of its own.
func (a *actor) follow(target control.Feed) {
	f := &feed{actor: a, target: target}
	src := target.Source()
	f.past = a.takePast(src)
	lagged := f.past != nil
	if lagged {
		f.cursor, f.past.feed = f.past.cursor, f
	} else {
		f.cursor = a.engine.server.Follow(src.Resource, selectorOf(src), f.notify)
	}
	a.feeds = append(a.feeds, f)
	if src.AtOnce {
		f.listed = true
		target.Replace(f.list())
		return
	}
	a.unlisted++
	if lagged {
		f.queue()
		return
	}
	f.notify()
}

// selectorOf selects the objects of a source.
func selectorOf(src control.Source) (sel store.Selector) {
	switch {
	case src.NodeName != "" && src.Name != "":
		sel.Fields = fields.SelectorFromSet(fields.Set{"spec.nodeName": src.NodeName, "metadata.name": src.Name})
	case src.NodeName != "":
		sel.Fields = fields.OneTermEqualSelector("spec.nodeName", src.NodeName)
	case src.Name != "":
		sel.Fields = fields.OneTermEqualSelector("metadata.name", src.Name)
	}
	return sel
}

// list returns what its first list, or the next one, has.
func (f *feed) list() []control.Item {
	if p := f.past; p != nil {
		f.past = nil
		return p.items
	}
	return f.cursor.List()
}

// notify puts the feed in line for delivery. Writers call it, with the server
// locked.
func (f *feed) notify() {
	e := f.actor.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if f.actor.stands() || f.actor.held[f.target.Source().Resource.Resource] {
		f.missed = true
		return
	}
	f.enqueue()
}

// queue puts the feed in line even if it is held back.
func (f *feed) queue() {
	e := f.actor.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	f.enqueue()
}

// enqueue puts the feed in line; e.mu must be held.
func (f *feed) enqueue() {
	e := f.actor.engine
	if f.queued {
		return
	}
	f.queued = true
	e.ready = append(e.ready, f)
	if e.awaken != nil {
		e.awaken()
	}
}

// takeReady takes the i-th feed out of the line.
func (e *Engine) takeReady(i int) *feed {
	e.mu.Lock()
	defer e.mu.Unlock()
	f := e.ready[i]
	f.queued = false
	if i == 0 { // in order: those that wait in line need not move up
		takeFirst(&e.ready)
	} else {
		e.ready = slices.Delete(e.ready, i, i+1)
	}
	return f
}

// dropReady takes those feeds out of the line that drop picks.
func (e *Engine) dropReady(drop func(*feed) bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ready = slices.DeleteFunc(e.ready, drop)
}

// changed counts a change that an actor might see; seen is the count so far.
func (e *Engine) changed() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.world++
}

func (e *Engine) seen() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.world
}

// deliver hands over one change, or a whole list: the first, and again when the
// feed fell so far behind that the server has forgotten what came next.
func (f *feed) deliver() {
	f.actor.engine.acted = f.actor.name
	defer func() {
		if p := recover(); p != nil {
			f.actor.survive(p, "a handler of "+f.target.Source().Resource.Resource)
		}
	}()
	if !f.listed {
		f.relist()
		return
	}
	change, ok, err := f.cursor.Next()
	switch {
	case err != nil:
		f.relist()
	case ok:
		if !change.Heartbeat {
			f.actor.engine.changed()
			e := f.actor.engine
			e.trace.Deliver(trace.Delivery{Time: e.Now(), Actor: f.actor.name, Resource: f.target.Source().Resource.Resource, RV: change.RV})
		}
		f.target.Deliver(change)
		f.goOn()
	}
}

// goOn puts the feed in line again if there is more to deliver.
func (f *feed) goOn() {
	if f.cursor.More() {
		f.notify()
	}
}

func (f *feed) relist() {
	f.actor.engine.changed()
	f.target.Replace(f.list())
	if !f.listed {
		f.listed = true
		f.actor.listed()
	}
	f.goOn()
}

// follower returns the actor of that name, which has a cache of the resource.
func (e *Engine) follower(name, resource string) (*actor, error) {
	a, err := e.actor(name)
	if err != nil {
		return nil, err
	}
	if follows := a.follows(); !slices.Contains(follows, resource) {
		return nil, fmt.Errorf("actor %s has no cache of %q; it has caches of %q", name, resource, follows)
	}
	return a, nil
}

// follows returns the resources that it has caches of or had in an earlier life, sorted.
func (a *actor) follows() []string {
	list := slices.Clone(a.followed)
	for _, f := range a.feeds {
		list = append(list, f.target.Source().Resource.Resource)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Follows returns the resources (plural) that an actor has caches of, sorted.
func (e *Engine) Follows(name string) ([]string, error) {
	a, err := e.actor(name)
	if err != nil {
		return nil, err
	}
	return a.follows(), nil
}

// Hold keeps an actor's caches of a resource (plural, "persistentvolumes") from
// hearing of anything until Release: a stale cache. An actor that starts while
// its cache is held has no list, and does nothing but its heartbeats, until then.
func (e *Engine) Hold(name, resource string) error {
	a, err := e.follower(name, resource)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if a.held == nil {
		a.held = map[string]bool{}
	}
	a.held[resource] = true
	e.ready = slices.DeleteFunc(e.ready, func(f *feed) bool {
		hold := f.actor == a && f.target.Source().Resource.Resource == resource
		if hold {
			f.queued, f.missed = false, true
		}
		return hold
	})
	return nil
}

// Held returns the resources whose caches are held back, by actor, sorted.
func (e *Engine) Held() map[string][]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	held := map[string][]string{}
	for _, a := range e.actors {
		if len(a.held) > 0 {
			held[a.name] = slices.Sorted(maps.Keys(a.held))
		}
	}
	return held
}

// HoldFor holds a cache, as Hold does, for so much virtual time. Settle waits for its end.
func (e *Engine) HoldFor(name, resource string, d time.Duration) error {
	return e.heldFor(e.Hold, name, resource, d)
}

func (e *Engine) heldFor(hold func(name, resource string) error, name, resource string, d time.Duration) error {
	if err := hold(name, resource); err != nil {
		return err
	}
	e.after(d, always, func() { _ = e.Release(name, resource) }) // it has the cache: hold says so
	return nil
}

// Release lets a held cache catch up.
func (e *Engine) Release(name, resource string) error {
	a, err := e.follower(name, resource)
	if err != nil {
		return err
	}
	a.forget(resource)
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(a.held, resource)
	for _, f := range a.feeds {
		if f.missed && !a.stands() && f.target.Source().Resource.Resource == resource {
			f.missed, f.queued = false, true
			e.ready = append(e.ready, f)
		}
	}
	return nil
}
