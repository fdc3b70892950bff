package engine_test

import (
	"context"
	"errors"
	"fmt"
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

// A reconciler that looks again and again keeps Settle no longer than the engine's patience, from when its key was added otherwise.
func TestAKeyThatIsAddedAgainAndAgainLetsTheClusterRest(t *testing.T) {
	e := engine.New(engine.Config{Patience: 30 * time.Second})
	t.Cleanup(e.Close)
	start := e.Now()
	var looked []time.Duration
	var queue control.Queue
	require.NoError(t, e.Add("test", func(env control.Env) error {
		queue = env.Queue(control.QueueConfig{Name: "looks", Reconcile: func(_ context.Context, key string) error {
			looked = append(looked, env.Now().Sub(start))
			queue.AddAgain(key, 10*time.Second)
			return nil
		}})
		queue.Add("key")
		return nil
	}))
	seconds := func(all ...time.Duration) []time.Duration {
		for i := range all {
			all[i] *= time.Second
		}
		return all
	}
	require.NoError(t, e.Settle())
	assert.Equal(t, seconds(0, 10, 20, 30), looked)
	queue.Add("key")
	require.NoError(t, e.Settle())
	assert.Equal(t, seconds(0, 10, 20, 30, 30, 40, 50, 60), looked)
	require.NoError(t, e.RunFor(25*time.Second))
	assert.Equal(t, seconds(0, 10, 20, 30, 30, 40, 50, 60, 70, 80), looked)
}

// A reconciler may say when its key is to come back: the failures before that count on afterwards.
func TestAKeyThatComesBackWhenItsReconcilerSaysKeepsItsFailures(t *testing.T) {
	e := engine.New(engine.Config{})
	t.Cleanup(e.Close)
	start := e.Now()
	var tried []time.Duration
	require.NoError(t, e.Add("test", func(env control.Env) error {
		queue := env.Queue(control.QueueConfig{
			Name: "keys", Limiter: control.RateLimiter{Base: time.Second, Max: time.Minute, QPS: -1},
			Reconcile: func(context.Context, string) error {
				if tried = append(tried, env.Now().Sub(start)); len(tried) == 3 {
					return fmt.Errorf("later: %w", &control.RetryAfter{After: 30 * time.Second, Err: errors.New("not now")})
				}
				return errors.New("no")
			},
		})
		queue.Add("key")
		return nil
	}))
	require.NoError(t, e.RunFor(40*time.Second))
	assert.Equal(t, []time.Duration{0, time.Second, 3 * time.Second, 33 * time.Second, 37 * time.Second}, tried)
	assert.Contains(t, e.Trace().String(), "not now")
}
