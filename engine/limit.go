package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/storagesim/storagesim/trace"
)

// workKey names what a worker worked on, for the livelock report: a key of a
// queue, or a task that has none.
type workKey struct{ actor, queue, key string }

// tally counts how often a task or a worker with a key has worked in the time that a stepLimit looks at.
type tally struct {
	n      int
	window uint64 // of Engine.window
}

func (t *tally) count(e *Engine) {
	if t.window != e.window {
		t.n, t.window = 0, e.window
	}
	t.n++
}

func (t *tally) of(e *Engine) int {
	if t.window != e.window {
		return 0
	}
	return t.n
}

// worked returns who worked how often, keys and processes that are gone included.
func (e *Engine) worked() map[workKey]int {
	work := maps.Clone(e.work)
	for _, a := range e.actors {
		for name, r := range a.rounds {
			work[workKey{a.name, name, ""}] += r.worked.of(e)
		}
		for t := range a.tasks {
			if t.once() {
				work[workKey{a.name, t.name, ""}] += t.tally.of(e)
			}
		}
		for name, q := range a.queues {
			for key, it := range q.items {
				work[workKey{a.name, name, key}] += it.worked.of(e)
			}
		}
	}
	maps.DeleteFunc(work, func(_ workKey, n int) bool { return n == 0 })
	return work
}

// stepLimit turns a livelock into an error.
type stepLimit struct {
	engine *Engine
	window time.Duration
	steps  int // how many are allowed from first on
	first  uint64
	began  time.Time
	traced int // records in the trace by then
}

// newLimit limits the steps of a call whose end is a time to those of each
// window of virtual time, since periodic work never ends; and those of any other
// call, window 0, altogether.
func (e *Engine) newLimit(window time.Duration) *stepLimit {
	l := &stepLimit{engine: e, window: window}
	l.begin()
	return l
}

// begin starts the count. The number of objects that exist now decides how many steps are
// allowed: objects that are created later may be part of the livelock.
func (l *stepLimit) begin() {
	e := l.engine
	clear(e.work)
	e.window++
	l.first, l.began, l.traced = e.steps.Load(), e.Now(), e.trace.Len()
	l.steps = e.stepsAllowed()
}

func (e *Engine) stepsAllowed() int {
	if e.cfg.StepLimit > 0 {
		return e.cfg.StepLimit
	}
	return 300_000 + 2_000*e.server.Count()
}

// momentLimit returns the limit of a call of RunFor. Beside programs that write, in real time, each write ends with such a call: those of one moment
// of virtual time have one limit, since a program and a controller that undo each other in a bubble never let time pass.
func (e *Engine) momentLimit() *stepLimit {
	if l := e.moment; e.realTime && l != nil && l.began.Equal(e.Now()) {
		l.steps = max(l.steps, e.stepsAllowed()) // the program may have made objects
		return l
	}
	e.moment = e.newLimit(time.Minute)
	return e.moment
}

func (l *stepLimit) check() error {
	e := l.engine
	switch {
	case e.stopped.Load():
		return ErrInterrupted
	case e.steps.Load()-l.first <= uint64(l.steps):
		return nil
	case l.window > 0 && e.Now().Sub(l.began) >= l.window:
		l.begin()
		return nil
	}
	return l.report()
}

// report says who keeps working on what, and what comes of it.
func (l *stepLimit) report() error {
	e := l.engine
	lines := slices.Concat(l.busiest(), l.written())
	for _, entry := range e.trace.Tail(4) {
		lines = append(lines, fmt.Sprintf("latest: %s", entry))
	}
	return fmt.Errorf("livelock: not at rest after %d steps in %s of virtual time; what keeps it busy:\n  %s",
		l.steps, e.Now().Sub(l.began).Round(time.Millisecond), strings.Join(lines, "\n  "))
}

// reported is the number of busy queues, and of objects that were written most, that a report names.
const reported = 3

// busiest returns the tasks and queues with the most work. Of a queue it is the key worked
// on most often, if that is a good part of the work.
func (l *stepLimit) busiest() []string {
	total, keys, top := map[workKey]int{}, map[workKey]int{}, map[workKey]string{}
	work := l.engine.worked()
	for k, n := range work {
		queue := workKey{k.actor, k.queue, ""}
		total[queue] += n
		keys[queue]++
		most := work[workKey{k.actor, k.queue, top[queue]}]
		if n > most || n == most && k.key < top[queue] {
			top[queue] = k.key
		}
	}
	var lines []string
	for _, queue := range mostFirst(total) {
		actor, name, key := queue.actor, queue.queue, top[queue]
		n := work[workKey{actor, name, key}]
		if n*10 < total[queue] {
			lines = append(lines, fmt.Sprintf("%s worked %d times on %s: %d different keys", actor, total[queue], name, keys[queue]))
			continue
		}
		lines = append(lines, fmt.Sprintf("%s worked %d times on %s", actor, n, l.about(queue, key)))
	}
	return lines
}

// about returns what a queue's key stands for; a task that is no worker has a name only.
func (l *stepLimit) about(work workKey, key string) string {
	if q := l.engine.byName[work.actor].queues[work.queue]; q != nil {
		return q.about(key)
	}
	return work.queue
}

// written says what was written most, as far as the trace remembers: the same object
// again and again, or more and more objects.
func (l *stepLimit) written() []string {
	type maker struct{ actor, kind string }
	writes, made := map[trace.Ref]int{}, map[maker]int{}
	by, latest := map[trace.Ref][]string{}, map[maker]trace.Ref{}
	for _, entry := range l.engine.trace.Since(l.traced) {
		w, ok := entry.Record.(trace.Write)
		if !ok || w.Err != nil || w.Old == w.New {
			continue
		}
		about := w.About()
		writes[about]++
		if !slices.Contains(by[about], w.Actor) {
			by[about] = append(by[about], w.Actor)
		}
		if w.Old == nil && writes[about] == 1 {
			made[maker{w.Actor, w.Kind}]++
			latest[maker{w.Actor, w.Kind}] = about
		}
	}
	var lines []string
	for _, m := range mostFirst(made) {
		if made[m] > 1 {
			lines = append(lines, fmt.Sprintf("%s created %d objects of kind %s, the latest is %s", m.actor, made[m], m.kind, latest[m]))
		}
	}
	maps.DeleteFunc(writes, func(_ trace.Ref, n int) bool { return n <= 10 }) // as any object may be
	for _, about := range mostFirst(writes) {
		lines = append(lines, fmt.Sprintf("%s was written %d times, by %s", about, writes[about], strings.Join(by[about], " and ")))
	}
	return lines
}

// mostFirst returns the keys with the highest counts, at most as many as are reported.
func mostFirst[K comparable](counts map[K]int) []K {
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b K) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	return keys[:min(len(keys), reported)]
}
