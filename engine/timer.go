package engine

import (
	"container/heap"
	"time"
)

// timer is something that happens at a time. Whether Settle waits for it is
// asked when settling, since a poll's answer changes.
type timer struct {
	at         time.Time
	seq        uint64 // ties fire in the order they were set
	foreground func() bool
	fire       func()
	index      int // in the heap; -1 when not in it
	cancelled  bool
	// actor, if it is set, owns the timer: in another life than this one the timer does nothing,
	// and Settle does not wait for it.
	actor *actor
	life  int
}

func (t *timer) alive() bool { return t.actor == nil || t.actor.life == t.life }

// awaited reports whether Settle waits for the timer now.
func (t *timer) awaited() bool {
	return t.alive() && (t.actor == nil || !t.actor.paused) && t.foreground()
}

// givenUp reports whether the timer was cancelled, or its actor has ended, before its time.
func (t *timer) givenUp() bool { return t.cancelled || !t.alive() }

func always() bool { return true }
func never() bool  { return false }

type timers []*timer

func (t timers) Len() int { return len(t) }
func (t timers) Less(i, j int) bool {
	if !t[i].at.Equal(t[j].at) {
		return t[i].at.Before(t[j].at)
	}
	return t[i].seq < t[j].seq
}
func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].index, t[j].index = i, j
}
func (t *timers) Push(x any) {
	tm := x.(*timer)
	tm.index = len(*t)
	*t = append(*t, tm)
}
func (t *timers) Pop() any {
	old := *t
	tm := old[len(old)-1]
	old[len(old)-1] = nil
	*t = old[:len(old)-1]
	tm.index = -1
	return tm
}

// after sets a timer d from now.
func (e *Engine) after(d time.Duration, foreground func() bool, fire func()) *timer {
	t := &timer{foreground: foreground, fire: fire}
	e.set(t, d)
	return t
}

// set sets a new timer, or again one that has fired, d from now.
func (e *Engine) set(t *timer, d time.Duration) {
	e.timerSeq++
	t.at, t.seq = e.Now().Add(max(d, 0)), e.timerSeq
	heap.Push(&e.timers, t)
}

// cancel takes back a timer that has not fired.
func (e *Engine) cancel(t *timer) {
	if t.index >= 0 {
		heap.Remove(&e.timers, t.index)
		t.cancelled = true
	}
}

// fireNext moves the clock to the earliest timer and fires it.
func (e *Engine) fireNext() {
	e.busy = true
	defer e.endStep()
	t := heap.Pop(&e.timers).(*timer)
	e.advance(t.at)
	if t.alive() {
		t.fire()
	}
}

// nextForeground returns the earliest timer that Settle waits for, nil if there is none.
func (e *Engine) nextForeground() *timer {
	if len(e.timers) > 0 && e.timers[0].awaited() {
		return e.timers[0]
	}
	var next *timer
	for _, t := range e.timers {
		if (next == nil || t.at.Before(next.at)) && t.awaited() {
			next = t
		}
	}
	return next
}
