package engine_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/trace"
)

func TestForeignCodeThatBlocksIsGivenUp(t *testing.T) {
	e := engine.New(engine.Config{Blocked: 50 * time.Millisecond})
	defer e.Close()
	never, after := make(chan bool), false
	var took time.Duration
	require.NoError(t, e.Add("host", func(env control.Env) error {
		env.Go("guest", func(context.Context) {
			env.(control.Foreign).Foreign("a visit", trace.Ref{}, func() { <-never }, func(d time.Duration) { took = d })
			after = true
		})
		return nil
	}))
	others := 0
	require.NoError(t, e.Add("other", func(env control.Env) error {
		env.Every("tick", time.Second, func(context.Context) { others++ })
		return nil
	}))
	require.NoError(t, e.RunFor(3*time.Second))
	assert.Equal(t, 50*time.Millisecond, took)
	assert.Equal(t, 3, others)
	require.NoError(t, e.Crash("host"))
	require.NoError(t, e.RunFor(time.Second)) // in its next life it blocks again
	e.Close()
	close(never)
	assert.False(t, after)
}

// Ctrl-C comes while a driver hangs.
func TestInterruptEndsTheWaitForForeignCodeAndForAnswersFromOutside(t *testing.T) {
	for name, wait := range map[string]func(ctx context.Context, env control.Env, never chan struct{}){
		"foreign code": func(_ context.Context, env control.Env, never chan struct{}) {
			env.(control.Foreign).Foreign("a visit", trace.Ref{}, func() { <-never }, func(time.Duration) { t.Error("given up") })
		},
		"an answer": func(ctx context.Context, env control.Env, never chan struct{}) {
			assert.False(t, env.(control.Outside).Await(ctx, func() <-chan struct{} { return never }))
			_ = env.Sleep(ctx, time.Hour)
		},
	} {
		for _, blocked := range []time.Duration{-1, time.Hour} {
			if name == "foreign code" && blocked < 0 {
				continue // it is not watched then
			}
			e := engine.New(engine.Config{Blocked: blocked})
			never, waits := make(chan struct{}), make(chan struct{})
			require.NoError(t, e.Add("host", func(env control.Env) error {
				env.Go("guest", func(ctx context.Context) {
					close(waits)
					wait(ctx, env, never)
				})
				return nil
			}))
			go func() {
				<-waits
				e.Interrupt()
				e.Interrupt()
			}()
			require.ErrorIs(t, e.Settle(), engine.ErrInterrupted, name)
			e.Close()
			close(never)
		}
	}
}

func TestForeignCodeMayUseTheEnvAndTakeAsLongAsItLikesThere(t *testing.T) {
	e := engine.New(engine.Config{Blocked: 50 * time.Millisecond})
	defer e.Close()
	var ended time.Time
	require.NoError(t, e.Add("host", func(env control.Env) error {
		env.Go("guest", func(ctx context.Context) {
			env.(control.Foreign).Foreign("a visit", trace.Ref{}, func() {
				assert.NoError(t, env.Sleep(ctx, 1000*time.Hour))
			}, func(time.Duration) { t.Error("given up") })
			ended = env.Now()
		})
		return nil
	}))
	require.NoError(t, e.Settle())
	assert.Equal(t, engine.Start().Add(1000*time.Hour), ended)
}

func TestForeignCodeThatLocksItsThreadDoesNotEndTheProgram(t *testing.T) {
	e := engine.New(engine.Config{Blocked: time.Minute})
	defer e.Close()
	done := 0
	require.NoError(t, e.Add("host", func(env control.Env) error {
		for _, again := range []bool{false, true} {
			env.Go("guest", func(ctx context.Context) {
				env.(control.Foreign).Foreign("a visit", trace.Ref{}, func() {
					runtime.LockOSThread()
					runtime.LockOSThread()
					if again {
						assert.NoError(t, env.Sleep(ctx, time.Second))
						runtime.LockOSThread()
					}
				}, func(time.Duration) { t.Error("given up") })
				assert.NoError(t, env.Sleep(ctx, time.Second))
				done++
			})
		}
		return nil
	}))
	require.NoError(t, e.Settle())
	assert.Equal(t, 2, done)
}

func TestWaitingEndsWithItsContext(t *testing.T) {
	e := engine.New(engine.Config{})
	defer e.Close()
	no := func(context.Context) (bool, error) { return false, nil }
	require.NoError(t, e.Add("waiter", func(env control.Env) error {
		env.Go("wait", func(ctx context.Context) {
			outer := control.WithTimeout(ctx, env, 3*time.Second)
			inner := control.WithTimeout(outer, env, time.Hour)
			derived, cancel := context.WithCancel(inner)
			defer cancel()
			assert.NoError(t, env.Sleep(derived, 2*time.Second))
			assert.NoError(t, outer.Err())
			assert.Equal(t, context.DeadlineExceeded, env.Sleep(derived, 2*time.Second))
			assert.Equal(t, engine.Start().Add(3*time.Second), env.Now())
			assert.Equal(t, context.DeadlineExceeded, inner.Err())
			at, ok := inner.Deadline()
			assert.True(t, ok)
			assert.Equal(t, env.Now(), at)
			poll := control.WithTimeout(ctx, env, 2500*time.Millisecond)
			assert.Equal(t, context.DeadlineExceeded, env.Poll(poll, time.Second, 0, no))
			assert.Equal(t, engine.Start().Add(5500*time.Millisecond), env.Now())
		})
		return nil
	}))
	require.NoError(t, e.RunFor(time.Minute))
}

func TestAPanicInForeignCodeEndsTheProcessWhichIsStartedAgainLaterEachTime(t *testing.T) {
	e := engine.New(engine.Config{})
	defer e.Close()
	var began []time.Duration
	require.NoError(t, e.Add("host", func(env control.Env) error {
		env.Go("guest", func(ctx context.Context) {
			began = append(began, env.Now().Sub(engine.Start()))
			if len(began) == 9 { // it runs for long now
				assert.NoError(t, env.Sleep(ctx, 11*time.Minute))
			}
			env.(control.Foreign).Foreign("a visit", trace.Ref{}, func() { panic("oh") }, nil)
		})
		return nil
	}))
	require.NoError(t, e.RunFor(32*time.Minute))
	seconds := make([]float64, len(began))
	for i, at := range began {
		seconds[i] = at.Seconds()
	}
	assert.Equal(t, []float64{0, 0, 10, 30, 70, 150, 310, 610, 910, 1570, 1580, 1600, 1640, 1720, 1880}, seconds)
	assert.Regexp(t, `host panics in a visit, at engine/foreign_test\.go:\d+: oh; its process ends, and starts again at once`, e.Trace().String())
}
