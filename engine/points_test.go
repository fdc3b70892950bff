package engine_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/mayfail"
)

// atPoint runs an actor with two tasks that reach a point one after the other, with a lock held, and returns what it did.
func atPoint(t *testing.T, f engine.PointFault) (did []string, story string) {
	e := engine.New(engine.Config{})
	defer e.Close()
	require.NoError(t, e.Add("disks", func(env control.Env) error {
		var mu sync.Mutex
		for _, name := range []string{"a", "b"} {
			env.Go(name, func(ctx context.Context) {
				mu.Lock()
				defer mu.Unlock()
				defer func() {
					_ = mayfail.Do(ctx, "cleanup", func() error { did = append(did, "cleans up "+name); return nil })
				}()
				size, err := mayfail.Get(ctx, "disk.create", func() (string, error) { did = append(did, "creates "+name); return "1Gi", nil })
				if err != nil {
					did = append(did, name+": "+err.Error())
					require.Empty(t, size)
				}
				did = append(did, env.Now().Format("05 ")+name+" is done")
			})
		}
		return nil
	}))
	require.NoError(t, e.InjectPoint(f))
	require.NoError(t, e.Settle())
	return did, e.Trace().Story(engine.Start())
}

func TestAFaultStrikesAPointAsItSays(t *testing.T) {
	rest := []string{"creates b", "00 b is done", "cleans up b"}
	full := errors.New("full")
	for name, tt := range map[string]struct {
		fault engine.PointFault
		did   []string
		story string
	}{
		"error": {engine.PointFault{Actor: "disks", Point: "disk.create"}, append([]string{"a: disk.create: injected fault", "00 a is done", "cleans up a"}, rest...),
			"gets an error (before it was carried out): point disk.create: disk.create: injected fault\n"},
		"own error": {engine.PointFault{Point: "disk.create", Err: full}, append([]string{"a: full", "00 a is done", "cleans up a"}, rest...), ": full\n"},
		"lost": {engine.PointFault{Point: "disk.create", After: true},
			append([]string{"creates a", "a: disk.create: injected fault: the answer was lost", "00 a is done", "cleans up a"}, rest...),
			"gets an error (after it was carried out): point disk.create"},
		"slow": {engine.PointFault{Point: "disk.create", Delay: 20 * time.Second},
			[]string{"creates a", "20 a is done", "cleans up a", "creates b", "20 b is done", "cleans up b"},
			"disks  waits 20s before: point disk.create\n"},
		"slow after": {engine.PointFault{Point: "disk.create", Delay: 20 * time.Second, After: true},
			[]string{"creates a", "20 a is done", "cleans up a", "creates b", "20 b is done", "cleans up b"},
			"waits 20s after: point disk.create\n"},
		"crash": {engine.PointFault{Point: "disk.create", Crash: true},
			[]string{"creates a", "00 a is done", "cleans up a", "creates b", "00 b is done", "cleans up b"},
			"crashes before: point disk.create\n           disks  is down\n           disks  starts again\n"},
		"crash after": {engine.PointFault{Point: "disk.create", Crash: true, After: true, Restart: 5 * time.Second}, []string{"creates a"}, "is down for 5s\n"},
		"skip": {engine.PointFault{Point: "disk.create", Skip: 1},
			[]string{"creates a", "00 a is done", "cleans up a", "b: disk.create: injected fault", "00 b is done", "cleans up b"}, "gets an error"},
	} {
		did, story := atPoint(t, tt.fault)
		assert.Equal(t, tt.did, did, name)
		assert.Contains(t, story, tt.story, name)
		_, again := atPoint(t, tt.fault)
		assert.Equal(t, story, again, name)
	}
}

func TestAFaultOfAPointThatMakesNoSenseIsRefused(t *testing.T) {
	e := engine.New(engine.Config{})
	defer e.Close()
	for says, f := range map[string]engine.PointFault{
		`no actor is called "disks"`:                  {Actor: "disks"},
		`the name "disk create" of a point has ' '`:   {Point: "disk create"},
		"only one of Crash, Err and Delay can be set": {Crash: true, Delay: time.Second},
		"fault: Number: -2 is negative":               {Number: -2},
		"Restart is the downtime of a Crash":          {Restart: time.Second},
	} {
		require.ErrorContains(t, e.InjectPoint(f), says)
	}
}

// An author who misspells a point learns it in the first run, whatever faults there are.
func TestAPointWithANameThatCannotBeIsAnError(t *testing.T) {
	e := engine.New(engine.Config{})
	defer e.Close()
	var err error
	require.NoError(t, e.Add("disks", func(env control.Env) error {
		env.Go("task", func(ctx context.Context) {
			err = mayfail.Do(ctx, "disk: create", func() error { t.Error("it is called"); return nil })
		})
		return nil
	}))
	require.NoError(t, e.Settle())
	require.ErrorContains(t, err, `mayfail: the name "disk: create" of a point has ':'`)
}

// While code waits at a point, its actor's caches receive nothing, and time limits hold.
func TestSlownessAtAPointEndsWithTheContext(t *testing.T) {
	e := engine.New(engine.Config{})
	defer e.Close()
	var took time.Duration
	var err error
	require.NoError(t, e.Add("disks", func(env control.Env) error {
		env.Go("task", func(ctx context.Context) {
			began := env.Now()
			err = mayfail.Do(control.WithTimeout(ctx, env, 5*time.Second), "disk.create", func() error { t.Error("it is called"); return nil })
			took = env.Now().Sub(began)
		})
		return nil
	}))
	require.NoError(t, e.InjectPoint(engine.PointFault{Delay: time.Minute}))
	require.NoError(t, e.Settle())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, 5*time.Second, took)
}

func TestAnActorThatCrashesWhileItWaitsAtAPointStartsAgain(t *testing.T) {
	e := engine.New(engine.Config{})
	defer e.Close()
	done := 0
	require.NoError(t, e.Add("disks", func(env control.Env) error {
		for _, name := range []string{"a", "b"} {
			env.Go(name, func(ctx context.Context) {
				_ = mayfail.Do(ctx, "disk.create", func() error { done++; return nil }) // it returns nil
			})
		}
		return nil
	}))
	require.NoError(t, e.InjectPoint(engine.PointFault{Delay: time.Minute}))
	require.NoError(t, e.RunFor(30*time.Second))
	require.Zero(t, done)
	require.NoError(t, e.Crash("disks"))
	require.NoError(t, e.Settle())
	require.Equal(t, 2, done)
}

// Goroutines of an author's code may reach points, too: only time cannot pass there.
func TestPointsInGoroutinesOfTheCode(t *testing.T) {
	for name, f := range map[string]engine.PointFault{"slow": {Delay: time.Minute}, "lost": {After: true}, "crash": {Crash: true}} {
		e := engine.New(engine.Config{})
		begun, returned := 0, 0
		require.NoError(t, e.Add("disks", func(env control.Env) error {
			env.Go("task", func(ctx context.Context) {
				begun++
				var all sync.WaitGroup
				all.Go(func() {
					_ = mayfail.Do(ctx, "disk.create", func() error { return nil })
					returned++
				})
				all.Wait()
			})
			return nil
		}))
		require.NoError(t, e.InjectPoint(f))
		require.NoError(t, e.Settle())
		require.Equal(t, 1, returned, name)
		if f.Crash {
			require.Equal(t, 2, begun, "it starts again")
		}
		if f.Delay > 0 {
			require.Contains(t, e.Trace().Story(engine.Start()), "does not wait 1m0s before: point disk.create: the code is in a goroutine of its own\n")
		}
		e.Close()
	}
}

func TestFaultsStrikeThePointsOfAProgram(t *testing.T) {
	e := engine.New(engine.Config{})
	defer e.Close()
	answers := make(chan error, 2)
	require.NoError(t, e.InjectPoint(engine.PointFault{Point: "disk.create", After: true}))
	require.NoError(t, e.InjectPoint(engine.PointFault{Point: "disk.create", Crash: true}))
	require.NoError(t, e.AddProgram("operator", func(ctx context.Context, _ api.Handler) error {
		for range 2 {
			answers <- mayfail.Do(ctx, "disk.create", func() error { return nil })
		}
		<-ctx.Done()
		return nil
	}))
	require.EqualError(t, <-answers, "disk.create: injected fault: the answer was lost")
	require.ErrorIs(t, <-answers, engine.ErrEnded)
	require.Empty(t, e.MissedPoints())
}

func TestAFunctionIsCalledBetweenTwoStepsOrNotAtAll(t *testing.T) {
	e := engine.New(engine.Config{})
	defer e.Close()
	called := make(chan bool)
	go func() {
		called <- e.Between(t.Context(), func() { assert.ErrorContains(t, e.Settle(), "in the middle of a step") })
	}()
	for done := false; !done; {
		require.NoError(t, e.Settle())
		select {
		case ok := <-called:
			require.True(t, ok)
			done = true
		default:
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	require.False(t, e.Between(ended, func() { t.Error("nobody waits for this any more") }))
	require.NoError(t, e.Settle())
}
