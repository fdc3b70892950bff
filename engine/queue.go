package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/bounded"
	"github.com/storagesim/storagesim/trace"
)

// queue is a work queue with its workers. It has the semantics of client-go's
// util/workqueue, on virtual time.
type queue struct {
	actor   *actor
	life    int
	cfg     control.QueueConfig
	items   map[string]*item // by key; of many not those of which there is nothing to remember
	spare   *item            // for the next key
	waiting []*item          // in line
	idle    []*task
	workers int // how many there are
	parked  int // workers that wait in the middle of a key

	tokens float64 // of the bucket, as of refill
	refill time.Time
}

// item is a key and what the queue knows of it.
type item struct {
	key      string
	dirty    bool // to reconcile: in line, or again after the work on it
	working  bool
	failures int
	later    *timer        // that will add it
	again    time.Duration // what AddAgain has waited for since the key was added otherwise
	worked   tally
}

func (v *env) Queue(cfg control.QueueConfig) control.Queue {
	cfg.Workers = max(cfg.Workers, 1)
	cfg.Limiter = cfg.Limiter.WithDefaults()
	q := &queue{
		actor: v.actor, life: v.life, cfg: cfg,
		tokens: float64(cfg.Limiter.Burst), refill: v.Now(),
	}
	if v.actor.queues == nil {
		v.actor.queues = map[string]*queue{}
	}
	v.actor.queues[cfg.Name] = q
	return q
}

// addWorker adds a worker for the first key in line. A queue has as many as it has had keys at once: those that its controller starts
// beside them would only wait.
func (q *queue) addWorker() {
	q.workers++
	name := q.cfg.Name + " worker"
	if q.cfg.Workers > 1 || q.workers > 1 {
		name = fmt.Sprintf("%s worker %d", q.cfg.Name, q.workers)
	}
	q.actor.line(&task{actor: q.actor, name: name, f: q.work, queue: q})
}

// overlap adds a worker if there is a key, and each worker waits in the middle of another one.
func (q *queue) overlap() {
	if q.cfg.Overlap && len(q.waiting) > 0 && q.parked == q.workers {
		q.addWorker()
	}
}

// rests makes a worker wait for a key, unless the queue has one.
func (q *queue) rests(t *task) bool {
	if len(q.waiting) > 0 {
		return false
	}
	q.idle = append(q.idle, t)
	t.waiting = true
	return true
}

// work takes keys and reconciles them until the queue is empty; then the task ends and its coroutine
// is free, since thousands of workers wait.
func (q *queue) work(ctx context.Context, t *task) {
	for !q.rests(t) {
		it := takeFirst(&q.waiting)
		it.dirty, it.working = false, true
		it.worked.count(q.actor.engine)
		err := q.cfg.Reconcile(ctx, it.key)
		q.done(it, err)
	}
}

// item returns the item of a key.
func (q *queue) item(key string) *item {
	it := q.items[key]
	if it != nil {
		return it
	}
	if it, q.spare = q.spare, nil; it == nil {
		it = &item{}
	}
	if q.items == nil {
		q.items = map[string]*item{} // most queues of most actors stay empty
	}
	it.key = key
	q.items[key] = it
	return it
}

// kept is the number of items that a queue keeps though there is nothing to remember: most have few keys, which come again.
const kept = 32

// drop forgets an item if there is nothing to remember, and many are known.
func (q *queue) drop(it *item) {
	if len(q.items) > kept && !it.dirty && !it.working && it.failures == 0 && it.later == nil {
		q.settle(it)
		delete(q.items, it.key)
		*it = item{}
		q.spare = it
	}
}

// settle adds what was counted for an item that goes to the engine's counts.
func (q *queue) settle(it *item) {
	if n := it.worked.of(q.actor.engine); n > 0 {
		q.actor.engine.work[workKey{q.actor.name, q.cfg.Name, it.key}] += n
	}
}

// few is the length up to which the rest of a list moves up when its first is taken, and so keeps the list's memory.
const few = 8

// takeFirst takes the first of a list.
func takeFirst[T any](list *[]T) T {
	first := (*list)[0]
	if len(*list) <= few {
		*list = slices.Delete(*list, 0, 1)
	} else {
		(*list)[0] = *new(T)
		*list = (*list)[1:]
	}
	return first
}

func (q *queue) done(it *item, err error) {
	it.working = false
	if it.dirty {
		q.enqueue(it)
	}
	var later *control.RetryAfter
	switch key := it.key; {
	case err == nil:
		it.failures = 0
	case errors.Is(err, control.ErrNotForgotten):
	case errors.As(err, &later):
		q.AddAgain(key, later.After)
		q.trace(trace.Retry{Queue: q.cfg.Name, Key: key, About: q.about(key), Delay: later.After, Err: shortened(err)})
	case q.cfg.MaxRetries > 0 && it.failures >= q.cfg.MaxRetries:
		q.trace(trace.GaveUp{Queue: q.cfg.Name, Key: key, About: q.about(key), Failures: it.failures + 1, Err: shortened(err)})
	default:
		delay := q.retry(it)
		q.trace(trace.Retry{Queue: q.cfg.Name, Key: key, About: q.about(key), Delay: delay, Err: shortened(err)})
	}
	q.drop(it)
}

// shortened returns an error with a text of bounded length: the records of all attempts keep it.
func shortened(err error) error {
	if text := err.Error(); len(text) > maxMessage {
		return errors.New(bounded.Text(text, maxMessage))
	}
	return err
}

// about returns what a key stands for. It is asked when the key is traced: later the
// controller may have forgotten it.
func (q *queue) about(key string) string {
	if q.cfg.About == nil {
		return q.cfg.Name + " " + key
	}
	return q.cfg.About(key)
}

func (q *queue) trace(r trace.Record) {
	q.actor.engine.record(q.actor.name, r)
}

func (q *queue) Add(key string) {
	if q.life == q.actor.life {
		it := q.item(key)
		it.again = 0
		q.add(it)
	}
}

func (q *queue) add(it *item) {
	if it.dirty {
		return
	}
	it.dirty = true
	if !it.working {
		q.enqueue(it)
	}
}

func (q *queue) enqueue(it *item) {
	q.waiting = append(q.waiting, it)
	switch {
	case len(q.idle) > 0:
		takeFirst(&q.idle).wake()
	case q.workers < q.cfg.Workers:
		q.addWorker()
	default:
		q.overlap()
	}
}

func (q *queue) AddAfter(key string, d time.Duration) { q.addAfter(q.item(key), d, always) }

func (q *queue) AddAgain(key string, d time.Duration) {
	it := q.item(key)
	it.again += d
	q.addAfter(it, d, func() bool { return it.again <= q.actor.engine.cfg.Patience })
}

// addAfter adds the key after d, or when it is to be added anyway, if that is sooner: a
// key waits for one moment only. It returns how long that is.
//
// Upstream: client-go util/workqueue/delaying_queue.go insert, v1.37.
func (q *queue) addAfter(it *item, d time.Duration, foreground func() bool) time.Duration {
	if q.life != q.actor.life {
		return d
	}
	if it.later != nil {
		if left := it.later.at.Sub(q.actor.engine.Now()); left <= d {
			return left
		}
		q.actor.engine.cancel(it.later)
	}
	it.later = q.actor.after(d, foreground, func() {
		it.later = nil
		q.add(it)
	})
	return d
}

func (q *queue) AddRateLimited(key string) { q.retry(q.item(key)) }

// retry adds the key after its backoff, and returns how long that is. A backoff beyond the
// engine's patience is not waited for when settling, nor is one that has come to its limit as often as
// takes longer than that: the key is stuck, not busy.
func (q *queue) retry(it *item) time.Duration {
	delay := q.backoff(it)
	foreground := always
	patience := q.actor.engine.cfg.Patience
	if delay > patience || delay == q.cfg.Limiter.Max && it.atLimit(q.cfg.Limiter)*delay > patience {
		foreground = never
	}
	delay = control.Backoff{First: delay, Jitter: q.cfg.Limiter.Jitter}.Wait(q.actor.engine.choose)
	return q.addAfter(it, delay, foreground)
}

// atLimit returns how often in a row a key's backoff has been the longest that it can be.
func (it *item) atLimit(l control.RateLimiter) time.Duration {
	n := it.failures
	for delay := l.Base; delay < l.Max && n > 0; delay *= 2 {
		n--
	}
	return time.Duration(n)
}

// backoff counts a failure and gives the longer of the key's exponential delay
// and the bucket's.
func (q *queue) backoff(it *item) time.Duration {
	l := q.cfg.Limiter
	delay := l.Max
	if n := it.failures; n < 62 && float64(l.Base)*math.Pow(2, float64(n)) < float64(l.Max) {
		delay = l.Base << n
	}
	it.failures++
	if l.QPS < 0 {
		return delay
	}
	now := q.actor.engine.Now()
	q.tokens = min(float64(l.Burst), q.tokens+now.Sub(q.refill).Seconds()*l.QPS)
	q.refill = now
	q.tokens--
	if q.tokens < 0 {
		delay = max(delay, time.Duration(-q.tokens/l.QPS*float64(time.Second)))
	}
	return delay
}

func (q *queue) Forget(key string) {
	if it := q.items[key]; it != nil {
		it.failures = 0
		q.drop(it)
	}
}

func (q *queue) NumRequeues(key string) int {
	if it := q.items[key]; it != nil {
		return it.failures
	}
	return 0
}

func (q *queue) Len() int { return len(q.waiting) }
