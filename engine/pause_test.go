package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
)

// busy returns an actor that receives changes of config maps, reconciles those, sleeps and does something every ten seconds. It notes what it does.
func busy(did *[]string) control.Factory {
	return func(env control.Env) error {
		note := func(what string) { *did = append(*did, fmt.Sprintf("%s %s", env.Now().Sub(engine.Start()), what)) }
		queue := env.Queue(control.QueueConfig{Name: "maps", Workers: 1, Reconcile: func(_ context.Context, key string) error {
			note("reconciles " + key)
			return nil
		}})
		control.NewCache[*v1.ConfigMap](env, configMaps).Handle(control.Enqueue[*v1.ConfigMap](func(key string) {
			note("hears of " + key)
			queue.Add(key)
		}))
		env.Every("round", 10*time.Second, func(context.Context) { note("has its turn") })
		env.Go("sleeper", func(ctx context.Context) {
			if env.Sleep(ctx, 15*time.Second) == nil {
				note("wakes")
			}
		})
		return nil
	}
}

func TestAPausedActorStandsStillAndThenDoesWhatHasCome(t *testing.T) {
	var did []string
	e := newEngine(t, engine.Config{})
	require.NoError(t, e.Add("busy", busy(&did)))
	require.NoError(t, e.RunFor(time.Second))
	require.NoError(t, e.Pause("busy"))
	create(t, e, configMap("m"))
	require.NoError(t, e.Settle())
	require.Equal(t, time.Second, e.Now().Sub(engine.Start()), "Settle does not wait for one that stands still")
	require.NoError(t, e.RunFor(39*time.Second))
	require.Empty(t, did)

	require.NoError(t, e.Resume("busy"))
	require.NoError(t, e.RunFor(time.Second))
	require.ElementsMatch(t, []string{"40s has its turn", "40s wakes", "40s hears of default/m", "40s reconciles default/m"}, did)
	require.NoError(t, e.RunFor(10*time.Second))
	require.Equal(t, "50s has its turn", did[len(did)-1])
}

// Whenever it is paused, it ends with the same work done once, and it does nothing meanwhile.
func TestAnActorMayBePausedAtAnyStep(t *testing.T) {
	for at := 0; ; at++ {
		var did []string
		e := newEngine(t, engine.Config{})
		require.NoError(t, e.Add("busy", busy(&did)))
		create(t, e, configMap("m"))
		more := true
		for n := 0; more && n < at; n++ {
			var err error
			more, err = e.Step()
			require.NoError(t, err)
			more = more && e.Now().Sub(engine.Start()) < 30*time.Second
		}
		require.NoError(t, e.Pause("busy"))
		before := len(did)
		require.NoError(t, e.RunFor(time.Minute))
		require.Len(t, did, before, "paused after %d steps", at)
		require.NoError(t, e.Resume("busy"))
		require.NoError(t, e.RunFor(time.Minute))
		counts := map[string]int{}
		for _, what := range did {
			_, what, _ := strings.Cut(what, " ")
			counts[what]++
		}
		require.Equal(t, []int{1, 1, 1}, []int{counts["hears of default/m"], counts["reconciles default/m"], counts["wakes"]}, "paused after %d steps: %v", at, did)
		if !more {
			require.Greater(t, at, 5)
			return
		}
	}
}

func TestAPausedActorThatEndsIsNotPausedWhenItStartsAgain(t *testing.T) {
	for name, end := range map[string]func(e *engine.Engine) error{
		"crash": func(e *engine.Engine) error { return e.Crash("busy") },
		"stop": func(e *engine.Engine) error {
			if err := e.Stop("busy"); err != nil {
				return err
			}
			return e.Start("busy")
		},
	} {
		t.Run(name, func(t *testing.T) {
			var did []string
			e := newEngine(t, engine.Config{})
			require.NoError(t, e.Add("busy", busy(&did)))
			require.NoError(t, e.RunFor(time.Second))
			require.NoError(t, e.Pause("busy"))
			require.NoError(t, end(e))
			create(t, e, configMap("m"))
			require.NoError(t, e.Settle())
			require.Contains(t, did, "16s wakes")
			require.Contains(t, did, "1s reconciles default/m")
		})
	}
}

func TestWhatCannotBePausedSaysSo(t *testing.T) {
	var did []string
	e := newEngine(t, engine.Config{})
	require.NoError(t, e.Add("busy", busy(&did)))
	require.NoError(t, e.AddProgram("program", func(ctx context.Context, _ api.Handler) error {
		<-ctx.Done()
		return nil
	}))
	require.ErrorContains(t, e.Pause("bussy"), `no actor is called "bussy"`)
	require.ErrorContains(t, e.Pause("program"), "its goroutines cannot be paused")
	require.NoError(t, e.Resume("busy"), "it goes on as it did")
	require.NoError(t, e.Pause("busy"))
	require.ErrorContains(t, e.Pause("busy"), "paused already")
	require.NoError(t, e.Stop("busy"))
	require.ErrorContains(t, e.Pause("busy"), "is down")
	e.Close()
	require.ErrorIs(t, e.Pause("busy"), engine.ErrClosed)
	require.ErrorIs(t, e.Resume("busy"), engine.ErrClosed)
}
