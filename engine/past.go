package engine

import (
	"slices"
	"time"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/control"
)

// past is what a cache listed when it was held back, and where the changes after it begin.
type past struct {
	source control.Source
	items  []control.Item
	cursor *api.Cursor
	feed   *feed // that it was given to, nil before
}

// Lag is Hold, and an actor that starts meanwhile gets a list at once: that of the time when
// this was called, as from an API server whose own cache is behind the one that the actor was
// connected to before. What it knew already it then knows no more. The changes since then
// follow after Release. A second process that starts meanwhile has no list until then.
//
// Upstream: apiserver storage/cacher, which answers a list of resourceVersion "0" with what
// it has, and client-go tools/cache Reflector, which lists so first, v1.36;
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

// LagFor is Lag for so long in virtual time, which Settle waits for.
func (e *Engine) LagFor(name, resource string, d time.Duration) error {
	return e.heldFor(e.Lag, name, resource, d)
}

// pastOf is the list of now.
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

// takePast is the past that there is for a source, nil if there is none.
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
