package live

import (
	"math"
	"sync"
	"time"

	"github.com/storagesim/storagesim/engine"
)

// Driver keeps an engine's actors going, in a goroutine of its own.
type Driver struct {
	engine *engine.Engine
	clock  clock
	woken  chan struct{}      // holds one token
	calls  chan chan struct{} // each is closed when its caller has done with the engine
	quit   chan struct{}
	stop   sync.Once
	done   chan struct{}
	err    error
}

// Start begins to drive the engine in the machine's time. Until Stop only the driver may use the
// engine: call Cluster.Settle and other methods that need it in Do. Clients may be used from any
// goroutine at any time.
func Start(e *engine.Engine) *Driver { return StartAt(e, 1) }

// StartAt starts a driver with virtual time that goes speed times as fast as the machine's. With
// speed 0 time passes and actors run only in calls of Do,
// such as Settle, RunFor and Engine.Step. A negative speed counts as 0.
func StartAt(e *engine.Engine, speed float64) *Driver {
	d := &Driver{
		engine: e, clock: newClock(e.Now(), speed), woken: make(chan struct{}, 1),
		calls: make(chan chan struct{}), quit: make(chan struct{}), done: make(chan struct{}),
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
// called; after Stop, or when the engine has failed, it is not. If virtual time passes in
// f, it goes on from there; before it passes, f waits for calls of CSI drivers that are under way.
//
// f runs in the goroutine of the caller, while the driver stands still: a test may fail in it.
func (d *Driver) Do(f func()) bool {
	over := make(chan struct{})
	select {
	case d.calls <- over:
		defer close(over)
		f()
		return true
	case <-d.done:
		return false
	}
}

// Done returns a channel that is closed when driving has ended: after Stop, or when the engine
// has failed. Stop then returns the error.
func (d *Driver) Done() <-chan struct{} { return d.done }

func (d *Driver) run() {
	defer close(d.done)
	defer d.engine.OnReady(nil)
	for {
		if d.clock.speed > 0 {
			d.engine.InRealTime(true)
			d.err = d.engine.RunFor(max(0, d.clock.now().Sub(d.engine.Now())))
			d.engine.InRealTime(false)
			if d.err != nil {
				return
			}
		}
		if !d.wait() {
			return
		}
	}
}

// wait waits for something to do, and says whether there will be.
func (d *Driver) wait() bool {
	var due <-chan time.Time
	if at, ok := d.engine.NextTimer(); ok && d.clock.speed > 0 {
		timer := time.NewTimer(d.clock.until(at))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-d.quit:
		return false
	case over := <-d.calls:
		<-over
		d.clock.catchUp(d.engine.Now())
	case <-d.woken:
	case <-due:
	}
	return true
}

// clock is the virtual time that belongs to the machine's.
type clock struct {
	machine, virtual time.Time // two moments that are the same
	speed            float64
}

func newClock(virtual time.Time, speed float64) clock {
	return clock{machine: time.Now(), virtual: virtual, speed: max(0, speed)}
}

func (c *clock) now() time.Time {
	return c.virtual.Add(time.Duration(float64(time.Since(c.machine)) * c.speed))
}

// until returns the machine's time until a moment of virtual time.
func (c *clock) until(at time.Time) time.Duration {
	return time.Duration(math.Ceil(float64(at.Sub(c.now())) / c.speed))
}

// catchUp sets the clock to a moment that is ahead of it.
func (c *clock) catchUp(virtual time.Time) {
	if virtual.After(c.now()) {
		*c = newClock(virtual, c.speed)
	}
}
