package remote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/util/workqueue"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/trace"
)

// queue is client-go's work queue with its workers.
type queue struct {
	process *process
	cfg     control.QueueConfig
	keys    workqueue.TypedDelayingInterface[string]
	limiter workqueue.TypedRateLimiter[string]
}

var _ control.Queue = (*queue)(nil)

// overlapping is the number of workers of a queue whose keys are reconciled at once (control.QueueConfig.Overlap).
const overlapping = 16

func (v *env) Queue(cfg control.QueueConfig) control.Queue {
	cfg.Limiter = cfg.Limiter.WithDefaults()
	q := &queue{process: v.process, cfg: cfg, keys: workqueue.NewTypedDelayingQueue[string](), limiter: newLimiter(cfg.Limiter)}
	v.tasks.Go(func() {
		<-v.ctx.Done()
		q.keys.ShutDown()
	})
	workers := max(cfg.Workers, 1)
	if cfg.Overlap {
		workers = max(workers, overlapping)
	}
	for i := range workers {
		v.spawn(fmt.Sprintf("%s worker %d", cfg.Name, i+1), q.work)
	}
	return q
}

// newLimiter returns a limiter like workqueue.DefaultTypedControllerRateLimiter with the numbers
// of l.
func newLimiter(l control.RateLimiter) workqueue.TypedRateLimiter[string] {
	each := workqueue.NewTypedItemExponentialFailureRateLimiter[string](l.Base, l.Max)
	if l.QPS < 0 {
		return each
	}
	bucket := rate.NewLimiter(rate.Limit(l.QPS), l.Burst)
	return workqueue.NewTypedMaxOfRateLimiter[string](each, &workqueue.TypedBucketRateLimiter[string]{Limiter: bucket})
}

// work takes keys and reconciles them until ctx is done.
func (q *queue) work(ctx context.Context) {
	for {
		var key string
		q.process.outside(func() { key, _ = q.keys.Get() })
		q.reconcile(ctx, key)
	}
}

func (q *queue) reconcile(ctx context.Context, key string) {
	defer q.keys.Done(key)
	err := q.cfg.Reconcile(ctx, key)
	failures := q.limiter.NumRequeues(key)
	var later *control.RetryAfter
	switch {
	case err == nil:
		q.Forget(key)
	case errors.Is(err, control.ErrNotForgotten):
	case errors.As(err, &later):
		q.AddAfter(key, later.After)
		q.process.run.tell(q.process.name, trace.Retry{Queue: q.cfg.Name, Key: key, About: q.about(key), Delay: later.After, Err: err})
	case q.cfg.MaxRetries > 0 && failures >= q.cfg.MaxRetries:
		q.process.run.tell(q.process.name, trace.GaveUp{Queue: q.cfg.Name, Key: key, About: q.about(key), Failures: failures + 1, Err: err})
	default:
		delay := q.retry(key)
		q.process.run.tell(q.process.name, trace.Retry{Queue: q.cfg.Name, Key: key, About: q.about(key), Delay: delay, Err: err})
	}
}

func (q *queue) about(key string) string {
	if q.cfg.About == nil {
		return q.cfg.Name + " " + key
	}
	return q.cfg.About(key)
}

// retry adds the key after its backoff, and returns how long that is.
func (q *queue) retry(key string) time.Duration {
	delay := q.limiter.When(key)
	q.keys.AddAfter(key, delay)
	return delay
}

func (q *queue) Add(key string)                       { q.keys.Add(key) }
func (q *queue) AddAfter(key string, d time.Duration) { q.keys.AddAfter(key, d) }
func (q *queue) AddAgain(key string, d time.Duration) { q.keys.AddAfter(key, d) }
func (q *queue) AddRateLimited(key string)            { q.retry(key) }
func (q *queue) Forget(key string)                    { q.limiter.Forget(key) }
func (q *queue) NumRequeues(key string) int           { return q.limiter.NumRequeues(key) }
func (q *queue) Len() int                             { return q.keys.Len() }
