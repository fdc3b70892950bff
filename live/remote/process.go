package remote

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
)

// process is one actor at work.
type process struct {
	run    *run
	name   string
	ctx    context.Context // ends with the actor's work
	fail   context.CancelCauseFunc
	events *broadcasters

	client  kubernetes.Interface
	objects control.Objects

	// turn is held by the goroutine that runs the actor's code, and guards the fields below.
	turn     turn
	unlisted int           // feeds that have had no list yet
	listed   chan struct{} // closed when all lists have arrived
	told     map[saidKey]bool
	known    memory

	tasks sync.WaitGroup
}

// turn is a lock. It is a channel and not a mutex, so that time goes on in a bubble of
// testing/synctest while a goroutine waits for it.
type turn chan struct{}

func (t turn) take() { t <- struct{}{} }
func (t turn) give() { <-t }

// ended is the value of the panic that unwinds the actor's code when its work is over.
type ended struct{ actor string }

func (e ended) Error() string { return e.actor + " has ended" }
func (ended) DriverCrash()    {}

var _ control.Crash = ended{}

func newProcess(ctx context.Context, r *run, name string, fail context.CancelCauseFunc, events *broadcasters) *process {
	return &process{run: r, name: name, ctx: ctx, fail: fail, events: events, turn: make(turn, 1), listed: make(chan struct{}), known: memory{},
		told: map[saidKey]bool{}}
}

// begin builds the actor. Its tasks start when all its caches have had their first list:
// one that ran earlier would take what it has not heard of for gone.
// Upstream: cache.WaitForCacheSync.
func (p *process) begin(factory control.Factory) (err error) {
	if p.client, p.objects, err = p.run.clients(p); err != nil {
		return err
	}
	p.turn.take()
	defer p.turn.give()
	defer func() {
		if thrown := recover(); thrown != nil {
			err = fmt.Errorf("panic in its factory: %v\n%s", thrown, debug.Stack())
		}
	}()
	p.unlisted = 1 // for the factory itself
	err = factory(&env{p})
	p.hasListed()
	return err
}

// hasListed counts down to the moment when every feed has had its first list.
func (p *process) hasListed() {
	if p.unlisted--; p.unlisted == 0 {
		close(p.listed)
	}
}

// awaitsList makes tasks that start from now on wait for one more list.
func (p *process) awaitsList() {
	if p.unlisted++; p.unlisted == 1 {
		p.listed = make(chan struct{})
	}
}

// spawn runs f as a task, once the actor's caches have had their first list: alone, with the
// lock. The lock must be held.
func (p *process) spawn(doing string, f func(ctx context.Context)) { p.spawnAfter(p.listed, doing, f) }

// spawnAtOnce starts a task that needs no cache.
func (p *process) spawnAtOnce(doing string, f func(ctx context.Context)) {
	now := make(chan struct{})
	close(now)
	p.spawnAfter(now, doing, f)
}

func (p *process) spawnAfter(listed <-chan struct{}, doing string, f func(ctx context.Context)) {
	if p.ctx.Err() != nil {
		return
	}
	p.tasks.Go(func() {
		select {
		case <-listed:
		case <-p.ctx.Done():
			return
		}
		p.act(doing, func() { f(p.ctx) })
	})
}

// act runs code of the actor, alone, unless its work is over. What it panics with ends all
// actors' work.
func (p *process) act(doing string, f func()) {
	p.turn.take()
	defer p.turn.give()
	if p.ctx.Err() != nil {
		return
	}
	defer func() {
		switch thrown := recover().(type) {
		case nil, ended:
		default:
			p.fail(fmt.Errorf("%s: panic in %s: %v\n%s", p.name, doing, thrown, debug.Stack()))
		}
	}()
	f()
}

// outside calls f, which waits for something, without the lock: the actor's other code gets
// its turn. It does not return when the actor's work is over.
func (p *process) outside(f func()) {
	p.unlocked(f)
	if p.ctx.Err() != nil {
		panic(ended{p.name})
	}
}

func (p *process) unlocked(f func()) {
	p.turn.give()
	defer p.turn.take()
	f()
}

// wait waits for d, or until ctx ends.
func (p *process) wait(ctx context.Context, d time.Duration) {
	p.outside(func() {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		case <-p.ctx.Done():
		}
	})
}
