package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
)

// overlapping runs an actor whose keys a, b and c take 3 s, 2 s and no time, and returns when each began and ended.
func overlapping(t *testing.T, cfg control.QueueConfig) (log []string) {
	t.Helper()
	e := newEngine(t, engine.Config{})
	start := e.Now()
	require.NoError(t, e.Add("worker", func(env control.Env) error {
		note := func(what, key string) {
			log = append(log, fmt.Sprintf("%s %s %s", env.Now().Sub(start), key, what))
		}
		cfg.Name, cfg.Reconcile = "keys", func(ctx context.Context, key string) error {
			note("begins", key)
			defer note("ends", key)
			if d := map[string]time.Duration{"a": 3 * time.Second, "b": 2 * time.Second}[key]; d > 0 {
				return env.Sleep(ctx, d)
			}
			return nil
		}
		queue := env.Queue(cfg)
		for _, key := range []string{"a", "b", "c"} {
			queue.Add(key)
		}
		queue.AddAfter("a", time.Second) // in work then: never twice at once
		return nil
	}))
	require.NoError(t, e.Settle())
	return log
}

func TestAQueueThatOverlapsTakesTheNextKeyWhileItsWorkersWait(t *testing.T) {
	require.Equal(t, []string{
		"0s a begins", "0s b begins", "0s c begins", "0s c ends", "2s b ends", "3s a ends", "3s a begins", "6s a ends",
	}, overlapping(t, control.QueueConfig{Overlap: true}))
}

func TestAQueueThatDoesNotOverlapFinishesAKeyFirst(t *testing.T) {
	require.Equal(t, []string{
		"0s a begins", "3s a ends", "3s b begins", "5s b ends", "5s c begins", "5s c ends", "5s a begins", "8s a ends",
	}, overlapping(t, control.QueueConfig{}))
}

func TestAQueueThatOverlapsAddsNoWorkerForKeysThatDoNotWait(t *testing.T) {
	e := newEngine(t, engine.Config{})
	log := []string{}
	require.NoError(t, e.Add("worker", func(env control.Env) error {
		queue := env.Queue(control.QueueConfig{Name: "keys", Overlap: true, Reconcile: func(_ context.Context, key string) error {
			log = append(log, key)
			return nil
		}})
		for _, key := range []string{"a", "b", "c"} {
			queue.Add(key)
		}
		return nil
	}))
	require.NoError(t, e.Settle())
	require.Equal(t, []string{"a", "b", "c"}, log)
	require.Empty(t, e.Choices(), "there was never more than one worker to choose")
}
