package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/bounded"
	"github.com/storagesim/storagesim/trace"
)

// queue is a work queue with its workers. It has the semantics of client-go's
// util/workqueue, on virtual time.
type queue struct {
	actor    *actor
	life     int
	cfg      control.QueueConfig
	waiting  []string        // keys in line
	dirty    map[string]bool // keys to reconcile: in line, or again after the work on them
	working  map[string]bool
	failures map[string]int
	later    map[string]*timer // keys that will be added
	idle     []*task
	workers  int // how many there are
	parked   int // workers that wait in the middle of a key

	tokens float64 // of the bucket, as of refill
	refill time.Time
}

func (v *env) Queue(cfg control.QueueConfig) control.Queue {
	cfg.Workers = max(cfg.Workers, 1)
	cfg.Limiter = cfg.Limiter.WithDefaults()
	q := &queue{
		actor: v.actor, life: v.life, cfg: cfg,
		dirty: map[string]bool{}, working: map[string]bool{}, failures: map[string]int{}, later: map[string]*timer{},
		tokens: float64(cfg.Limiter.Burst), refill: v.Now(),
	}
	v.actor.queues[cfg.Name] = q
	for range cfg.Workers {
		q.addWorker()
	}
	return q
}

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
		key := takeFirst(&q.waiting)
		delete(q.dirty, key)
		q.working[key] = true
		q.actor.engine.work[workKey{q.actor.name, q.cfg.Name, key}]++
		err := q.cfg.Reconcile(ctx, key)
		q.done(key, err)
	}
}

// takeFirst takes the first of a list, which keeps its memory when it becomes empty.
func takeFirst[T any](list *[]T) T {
	first := (*list)[0]
	(*list)[0] = *new(T)
	if len(*list) == 1 {
		*list = (*list)[:0]
	} else {
		*list = (*list)[1:]
	}
	return first
}

func (q *queue) done(key string, err error) {
	delete(q.working, key)
	if q.dirty[key] {
		q.enqueue(key)
	}
	switch {
	case err == nil:
		q.Forget(key)
	case q.cfg.MaxRetries > 0 && q.failures[key] >= q.cfg.MaxRetries:
		q.trace(trace.GaveUp{Queue: q.cfg.Name, Key: key, About: q.about(key), Failures: q.failures[key] + 1, Err: shortened(err)})
	default:
		delay := q.retry(key)
		q.trace(trace.Retry{Queue: q.cfg.Name, Key: key, About: q.about(key), Delay: delay, Err: shortened(err)})
	}
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
	if q.life != q.actor.life || q.dirty[key] {
		return
	}
	q.dirty[key] = true
	if !q.working[key] {
		q.enqueue(key)
	}
}

func (q *queue) enqueue(key string) {
	q.waiting = append(q.waiting, key)
	if len(q.idle) > 0 {
		takeFirst(&q.idle).wake()
		return
	}
	q.overlap()
}

func (q *queue) AddAfter(key string, d time.Duration) { q.addAfter(key, d, always) }

// addAfter adds the key after d, or when it is to be added anyway, if that is sooner: a
// key waits for one moment only. It returns how long that is.
//
// Upstream: client-go util/workqueue/delaying_queue.go insert, v1.37.
func (q *queue) addAfter(key string, d time.Duration, foreground func() bool) time.Duration {
	if q.life != q.actor.life {
		return d
	}
	if waits := q.later[key]; waits != nil {
		if left := waits.at.Sub(q.actor.engine.Now()); left <= d {
			return left
		}
		q.actor.engine.cancel(waits)
	}
	q.later[key] = q.actor.after(d, foreground, func() {
		delete(q.later, key)
		q.Add(key)
	})
	return d
}

func (q *queue) AddRateLimited(key string) { q.retry(key) }

// retry adds the key after its backoff, and returns how long that is. A backoff beyond the
// engine's patience is not waited for when settling, nor is one that has come to its limit as often as
// takes longer than that: the key is stuck, not busy.
func (q *queue) retry(key string) time.Duration {
	delay := q.backoff(key)
	foreground := always
	patience := q.actor.engine.cfg.Patience
	if delay > patience || delay == q.cfg.Limiter.Max && q.atLimit(key)*delay > patience {
		foreground = never
	}
	return q.addAfter(key, delay, foreground)
}

// atLimit returns how often in a row a key's backoff has been the longest that it can be.
func (q *queue) atLimit(key string) time.Duration {
	l := q.cfg.Limiter
	n := q.failures[key]
	for delay := l.Base; delay < l.Max && n > 0; delay *= 2 {
		n--
	}
	return time.Duration(n)
}

// backoff counts a failure and gives the longer of the key's exponential delay
// and the bucket's.
func (q *queue) backoff(key string) time.Duration {
	l := q.cfg.Limiter
	delay := l.Max
	if n := q.failures[key]; n < 62 && float64(l.Base)*math.Pow(2, float64(n)) < float64(l.Max) {
		delay = l.Base << n
	}
	q.failures[key]++
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

func (q *queue) Forget(key string)          { delete(q.failures, key) }
func (q *queue) NumRequeues(key string) int { return q.failures[key] }
func (q *queue) Len() int                   { return len(q.waiting) }
