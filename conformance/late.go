package conformance

import (
	"context"
	"time"

	"github.com/storagesim/storagesim/control"
)

// lateEnv is the Env of an actor whose answers take time, by choice. A key that has changed while an actor worked on it is worked on again at
// once, and here the cache shows what was just written only if another actor ran in between. On a cluster an answer takes about as long as the
// change takes to come to the cache.
type lateEnv struct{ control.FullEnv }

// answerTime is about how long an answer takes.
const answerTime = time.Millisecond

// Queue implements control.Env.
func (e lateEnv) Queue(cfg control.QueueConfig) control.Queue {
	ended, reconcile := map[string]time.Time{}, cfg.Reconcile
	cfg.Reconcile = func(ctx context.Context, key string) error {
		if at, again := ended[key]; again && at.Equal(e.Now()) && e.Choose(2) == 1 {
			if err := e.Sleep(ctx, answerTime); err != nil {
				return err
			}
		}
		err := reconcile(ctx, key)
		ended[key] = e.Now()
		return err
	}
	return e.FullEnv.Queue(cfg)
}
