package engine

import (
	"slices"
	"time"

	"github.com/storagesim/storagesim/api/store"
	"github.com/storagesim/storagesim/control"
)

// past holds the list of a cache when it was held, and the position of the changes after it.
type past struct {
	source control.Source
	items  []control.Item
	cursor *store.Cursor
	feed   *feed // that it was given to, nil before
}

// Lag holds a cache as Hold does. In addition, an actor that starts meanwhile gets a list at once:
// that of the time when Lag was called, as from an API server whose own cache is behind the one that
// the actor was connected to before. So the actor has lost what it knew. The changes since then
// follow after Release. A second process that starts meanwhile has no list until then.
//
// Upstream: apiserver storage/cacher, which answers a list of resourceVersion "0" with what
// it has, and client-go tools/cache Reflector, which lists so first, v1.37;
// https://github.com/kubernetes/kubernetes/issues/59848.
func (e *Engine) Lag(name, resource string) error {
	if err := e.Hold(name, resource); err != nil {
		return err
	}
	a, err := e.actor(name)
	if err != nil {
		return err
	}
	for _, f := range a.feeds {
		if src := f.target.Source(); src.Resource.Resource == resource {
			a.pasts = append(a.pasts, e.pastOf(src))
		}
	}
	return nil
}

// LagFor holds a cache, as Lag does, for so much virtual time. Settle waits for its end.
func (e *Engine) LagFor(name, resource string, d time.Duration) error {
	return e.heldFor(e.Lag, name, resource, d)
}

// pastOf returns the list of now.
func (e *Engine) pastOf(src control.Source) *past {
	p := &past{source: src}
	p.cursor = e.server.Follow(src.Resource, selectorOf(src), func() {
		if p.feed != nil {
			p.feed.notify()
		}
	})
	p.items = p.cursor.List()
	return p
}

// takePast removes and returns the past of a source; nil if there is none.
func (a *actor) takePast(src control.Source) *past {
	i := slices.IndexFunc(a.pasts, func(p *past) bool { return p.source == src })
	if i < 0 {
		return nil
	}
	p := a.pasts[i]
	a.pasts = slices.Delete(a.pasts, i, i+1)
	return p
}

// forget ends the pasts of a resource that no process asked for.
func (a *actor) forget(resource string) {
	a.pasts = slices.DeleteFunc(a.pasts, func(p *past) bool {
		if p.source.Resource.Resource != resource {
			return false
		}
		p.cursor.Stop()
		return true
	})
}
