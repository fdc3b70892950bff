package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
)

// Upstream: client-go util/workqueue/delaying_queue.go insert. As recorded for a
// VolumeAttachment that fails twice at once: tries at 0, 0, 1, 5 and 13 s.
func TestAKeyThatIsToBeAddedLaterWaitsForTheSoonestMomentOnly(t *testing.T) {
	e := engine.New(engine.Config{})
	t.Cleanup(e.Close)
	start := e.Now()
	var failing, later []time.Duration
	require.NoError(t, e.Add("test", func(env control.Env) error {
		var failures control.Queue
		failures = env.Queue(control.QueueConfig{
			Name: "failures", Limiter: control.RateLimiter{Base: time.Second, Max: time.Minute, QPS: -1},
			Reconcile: func(_ context.Context, key string) error {
				if failing = append(failing, env.Now().Sub(start)); len(failing) == 1 {
					failures.Add(key) // as its own write would
				}
				return errors.New("no")
			},
		})
		failures.Add("key")
		queue := env.Queue(control.QueueConfig{
			Name: "later", Reconcile: func(context.Context, string) error {
				later = append(later, env.Now().Sub(start))
				return nil
			},
		})
		queue.AddAfter("key", 5*time.Second)
		queue.AddAfter("key", 3*time.Second)
		queue.AddAfter("key", 9*time.Second)
		return nil
	}))
	require.NoError(t, e.RunFor(20*time.Second))
	assert.Equal(t, []time.Duration{0, 0, time.Second, 5 * time.Second, 13 * time.Second}, failing)
	assert.Equal(t, []time.Duration{3 * time.Second}, later)
}
