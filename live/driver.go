package live

import (
	"sync"
	"time"

	"github.com/storagesim/storagesim/engine"
)

// Driver keeps an engine's actors going, in a goroutine of its own.
type Driver struct {
	engine *engine.Engine
	woken  chan struct{} // holds one token
	calls  chan func()
	quit   chan struct{}
	stop   sync.Once
	done   chan struct{}
	err    error
}

// Start begins to drive the engine. Until Stop it is the driver's: use Do for
// whatever needs it, Cluster.Settle and its like included. Clients may be used by
// anybody, at any time.
func Start(e *engine.Engine) *Driver {
	d := &Driver{
		engine: e, woken: make(chan struct{}, 1),
		calls: make(chan func()), quit: make(chan struct{}), done: make(chan struct{}),
	}
	e.OnReady(func() {
		select {
		case d.woken <- struct{}{}:
		default:
		}
	})
	go d.run()
	return d
}

// Stop ends the driving after the step under way and returns the first error of
// the engine, such as a livelock. It may be called more than once.
func (d *Driver) Stop() error {
	d.stop.Do(func() { close(d.quit) })
	<-d.done
	return d.err
}

// Do calls f between two steps, and waits for it: the place to crash an actor, to
// inject a fault or to ask the cluster for its story. It reports whether f was
// called; after Stop, or when the engine has failed, it is not.
func (d *Driver) Do(f func()) bool {
	called := make(chan struct{})
	select {
	case d.calls <- func() { f(); close(called) }:
		<-called
		return true
	case <-d.done:
		return false
	}
}

func (d *Driver) run() {
	defer close(d.done)
	defer d.engine.OnReady(nil)
	offset := time.Until(d.engine.Now()) // what the engine's clock is ahead of the machine's
	for {
		if d.err = d.engine.RunFor(max(0, time.Now().Add(offset).Sub(d.engine.Now()))); d.err != nil {
			return
		}
		if !d.wait(offset) {
			return
		}
	}
}

// wait waits for something to do, and says whether there will be.
func (d *Driver) wait(offset time.Duration) bool {
	var due <-chan time.Time
	if at, ok := d.engine.NextTimer(); ok {
		timer := time.NewTimer(time.Until(at.Add(-offset)))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-d.quit:
		return false
	case f := <-d.calls:
		f()
	case <-d.woken:
	case <-due:
	}
	return true
}
