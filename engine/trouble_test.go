package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/trace"
)

// requireNoCoroutines waits for coroutines that have ended to be gone.
func requireNoCoroutines(t *testing.T, before int) {
	t.Helper()
	for range 1000 {
		if runtime.NumGoroutine() <= before {
			return
		}
		runtime.Gosched()
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%d goroutines before, %d after Close", before, runtime.NumGoroutine())
}

// busybody does a bit of everything that waits.
func busybody(env control.Env) error {
	cache := control.NewCache[*v1.ConfigMap](env, configMaps)
	queue := env.Queue(control.QueueConfig{Name: "maps", Workers: 3, Reconcile: func(ctx context.Context, _ string) error {
		_, err := env.Client().CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
		return err
	}})
	cache.Handle(control.Enqueue[*v1.ConfigMap](queue.Add))
	env.Go("nap", func(ctx context.Context) { _ = env.Sleep(ctx, time.Hour) })
	env.Every("round", time.Minute, func(ctx context.Context) { _ = env.Sleep(ctx, time.Second) })
	env.Go("poll", func(ctx context.Context) {
		_ = env.Poll(ctx, time.Second, 0, func(context.Context) (bool, error) { return false, nil })
	})
	return nil
}

func TestCloseAtAnyStepFreesAllCoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	for steps := range 40 {
		e := engine.New(engine.Config{Policy: engine.Seeded(uint64(steps))})
		require.NoError(t, e.Add("one", busybody))
		require.NoError(t, e.Add("two", busybody))
		create(t, e, configMap("m"))
		for i := range steps {
			_, err := e.Step()
			require.NoError(t, err)
			if i%10 == 9 {
				require.NoError(t, e.Crash("one"))
			}
		}
		e.Close()
		e.Close()
	}
	requireNoCoroutines(t, before)
}

func TestAClosedEngineSaysSo(t *testing.T) {
	before := runtime.NumGoroutine()
	e := engine.New(engine.Config{})
	require.NoError(t, e.Add("copier", copier("a", "b")))
	require.NoError(t, e.Settle())
	e.Close()
	_, err := e.Step()
	require.ErrorIs(t, err, engine.ErrClosed)
	require.ErrorIs(t, e.Settle(), engine.ErrClosed)
	require.ErrorIs(t, e.RunFor(time.Hour), engine.ErrClosed)
	require.ErrorIs(t, e.RunUntil(time.Hour, func() bool { return true }), engine.ErrClosed)
	require.ErrorIs(t, e.Crash("copier"), engine.ErrClosed)
	require.ErrorIs(t, e.Add("late", copier("b", "c")), engine.ErrClosed)
	create(t, e, configMap("m", "a", "1"))
	require.Contains(t, e.Trace().String(), "user creates configmap default/m", "the server lives on")
	requireNoCoroutines(t, before)
}

func TestInterruptEndsWhatIsUnderWay(t *testing.T) {
	e := newEngine(t, engine.Config{})
	rounds := 0
	require.NoError(t, e.Add("resyncer", func(env control.Env) error {
		env.Every("resync", time.Millisecond, func(context.Context) {
			if rounds++; rounds == 1000 {
				done := make(chan struct{})
				go func() { e.Interrupt(); close(done) }() // from another goroutine
				<-done
			}
		})
		return nil
	}))
	require.ErrorIs(t, e.RunFor(1_000_000*time.Hour), engine.ErrInterrupted)
	require.Equal(t, 1000, rounds)
	require.ErrorIs(t, e.Settle(), engine.ErrInterrupted, "and stays ended")
}

func TestARunOfManyYearsIsNoLivelock(t *testing.T) {
	e := newEngine(t, engine.Config{StepLimit: 100})
	rounds := 0
	require.NoError(t, e.Add("resyncer", func(env control.Env) error {
		env.Every("resync", 24*time.Hour, func(context.Context) { rounds++ })
		return nil
	}))
	require.NoError(t, e.RunFor(10*365*24*time.Hour))
	require.Equal(t, 10*365, rounds)
	end := e.Now().Add(365 * 24 * time.Hour)
	require.NoError(t, e.RunUntil(2*365*24*time.Hour, func() bool { return e.Now().After(end) }))
	require.NoError(t, newEngine(t, engine.Config{}).RunFor(1<<63-1), "the longest time there is, 292 years")
}

func TestALivelockOfTasksNamesThem(t *testing.T) {
	for name, run := range map[string]func(*engine.Engine) error{
		"Settle":   (*engine.Engine).Settle,
		"RunFor":   func(e *engine.Engine) error { return e.RunFor(time.Hour) },
		"RunUntil": func(e *engine.Engine) error { return e.RunUntil(time.Hour, func() bool { return false }) },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, engine.Config{StepLimit: 1000})
			require.NoError(t, e.Add("spinner", func(env control.Env) error {
				env.Go("spin", func(ctx context.Context) {
					for env.Sleep(ctx, time.Microsecond) == nil {
						continue
					}
				})
				return nil
			}))
			require.ErrorContains(t, run(e), "livelock: not at rest after 1000 steps in 1ms of virtual time; what keeps it busy:\n  spinner worked 1001 times on spin")
		})
	}
}

// A program writes again and again what an actor undoes, and no virtual time passes, as in a bubble.
func TestALivelockWithAProgramIsReported(t *testing.T) {
	for _, real := range []bool{true, false} {
		e := newEngine(t, engine.Config{StepLimit: 1000})
		require.NoError(t, e.Add("undoer", func(env control.Env) error {
			cache := control.NewCache[*v1.ConfigMap](env, configMaps)
			q := env.Queue(control.QueueConfig{Name: "maps", Reconcile: func(ctx context.Context, key string) error {
				cm, ok := cache.Get(key)
				if !ok || cm.Data["v"] == "off" {
					return nil
				}
				cm = cm.DeepCopy()
				cm.Data["v"] = "off"
				_, err := env.Client().CoreV1().ConfigMaps("default").Update(ctx, cm, metav1.UpdateOptions{})
				return err
			}})
			cache.Handle(control.Enqueue[*v1.ConfigMap](q.Add))
			return nil
		}))
		create(t, e, configMap("switch", "v", "on"))
		e.InRealTime(real)
		err := e.RunFor(time.Second)
		for i := 0; i < 1000 && err == nil; i++ {
			on := configMap("switch", "v", "on")
			_, updateErr := fake.New(e.Server(), "program").CoreV1().ConfigMaps("default").Update(t.Context(), on, metav1.UpdateOptions{})
			require.NoError(t, updateErr)
			err = e.RunFor(0)
		}
		if !real {
			require.NoError(t, err, "each call has a limit of its own")
			continue
		}
		require.ErrorContains(t, err, "livelock: not at rest after 1000 steps in 0s of virtual time; what keeps it busy:\n  undoer worked ")
	}
}

// Two controllers: to each object of the one the other makes another, for ever.
func TestALivelockThatCreatesObjectsIsReportedWithItsChain(t *testing.T) {
	answer := func(from, to string) control.Factory {
		return func(env control.Env) error {
			cache, maps, n := control.NewCache[*v1.ConfigMap](env, configMaps), env.Client().CoreV1().ConfigMaps("default"), 0
			q := env.Queue(control.QueueConfig{Name: "maps", Reconcile: func(ctx context.Context, key string) error {
				if cm, ok := cache.Get(key); !ok || cm.Data["for"] != from {
					return nil
				}
				n++
				_, err := maps.Create(ctx, configMap(fmt.Sprintf("%s-%d", to, n), "for", to), metav1.CreateOptions{})
				return err
			}})
			cache.Handle(control.Enqueue[*v1.ConfigMap](q.Add))
			return nil
		}
	}
	e := newEngine(t, engine.Config{})
	require.NoError(t, e.Add("ping", answer("ping", "pong")))
	require.NoError(t, e.Add("pong", answer("pong", "ping")))
	create(t, e, configMap("first", "for", "ping"))
	err := e.Settle()
	require.ErrorContains(t, err, "livelock: not at rest after 310000 steps in 0s of virtual time",
		"of the ConfigMap and the four namespaces that were there when it began")
	require.Regexp(t, `ping worked \d{4,} times on maps: \d{4,} different keys`, err.Error())
	require.Regexp(t, `ping created \d{4,} objects of kind ConfigMap, the latest is configmap default/pong-\d{4,}`, err.Error())
	require.Regexp(t, `pong created \d{4,} objects of kind ConfigMap, the latest is configmap default/ping-\d{4,}`, err.Error())
	require.NotContains(t, err.Error(), "was written")
	if testing.Verbose() {
		t.Log(err)
	}
}

func TestAHeldCacheStaysHeldAcrossACrash(t *testing.T) {
	e := newEngine(t, engine.Config{})
	require.NoError(t, e.Add("copier", copier("a", "b")))
	require.NoError(t, e.Settle())
	require.NoError(t, e.Hold("copier", "configmaps"))
	require.NoError(t, e.Crash("copier"))
	create(t, e, configMap("m", "a", "1"))
	require.NoError(t, e.Settle())
	require.Empty(t, get(t, e, "m").Data["b"], "it has had no list and does nothing")
	require.NoError(t, e.Release("copier", "configmaps"))
	require.NoError(t, e.Settle())
	require.Equal(t, "1", get(t, e, "m").Data["b"])
}

func TestAnActorThatCrashesWhileItsCacheLagsListsThePast(t *testing.T) {
	e := newEngine(t, engine.Config{})
	var heard []string
	require.NoError(t, e.Add("listener", func(env control.Env) error {
		control.NewCache[*v1.ConfigMap](env, configMaps).Handle(control.Handler[*v1.ConfigMap]{
			Add:    func(m *v1.ConfigMap) { heard = append(heard, "has "+m.Name) },
			Delete: func(m *v1.ConfigMap) { heard = append(heard, "lost "+m.Name) },
		})
		return nil
	}))
	create(t, e, configMap("old"))
	require.NoError(t, e.Settle())
	require.NoError(t, e.Lag("listener", "configmaps"))
	require.NoError(t, fake.New(e.Server(), "user").CoreV1().ConfigMaps("default").Delete(context.Background(), "old", metav1.DeleteOptions{}))
	create(t, e, configMap("new"))
	require.NoError(t, e.Settle())
	require.Equal(t, []string{"has old"}, heard, "it hears of nothing")

	heard = nil
	require.NoError(t, e.Crash("listener"))
	require.NoError(t, e.Settle())
	require.Equal(t, []string{"has old"}, heard, "the list is that of the time when it began")
	require.NoError(t, e.Crash("listener"))
	require.NoError(t, e.Settle())
	require.Equal(t, []string{"has old"}, heard, "a second process has no list")
	heard = nil
	require.NoError(t, e.Release("listener", "configmaps"))
	require.NoError(t, e.Settle())
	require.Equal(t, []string{"has new"}, heard)
}

func TestWhatHappenedWhileACacheLaggedFollowsThePast(t *testing.T) {
	e := newEngine(t, engine.Config{})
	require.NoError(t, e.Add("copier", copier("a", "b")))
	require.NoError(t, e.Settle())
	require.NoError(t, e.LagFor("copier", "configmaps", time.Minute))
	create(t, e, configMap("m", "a", "1")) // an empty list is one, too
	require.NoError(t, e.Crash("copier"))
	require.NoError(t, e.RunFor(30*time.Second))
	require.Empty(t, get(t, e, "m").Data["b"])
	require.NoError(t, e.RunFor(time.Minute))
	require.Equal(t, "1", get(t, e, "m").Data["b"])
	require.ErrorContains(t, e.Lag("copier", "pods"), `has no cache of "pods"`)
}

func TestHoldingTwiceIsHoldingOnceAndADownActorCanBeHeld(t *testing.T) {
	e := newEngine(t, engine.Config{})
	require.NoError(t, e.Add("copier", copier("a", "b")))
	require.NoError(t, e.Settle())
	require.NoError(t, e.Inject(engine.Fault{Actor: "copier", Crash: true, Restart: time.Hour}))
	create(t, e, configMap("m", "a", "1"))
	require.NoError(t, e.RunFor(time.Minute))
	require.NoError(t, e.Hold("copier", "configmaps"))
	require.NoError(t, e.Hold("copier", "configmaps"))
	require.NoError(t, e.Settle())
	require.Empty(t, get(t, e, "m").Data["b"])
	require.NoError(t, e.Release("copier", "configmaps"))
	require.NoError(t, e.Release("copier", "configmaps"))
	require.NoError(t, e.Settle())
	require.Equal(t, "1", get(t, e, "m").Data["b"])
	require.EqualError(t, e.Hold("copier", "pods"), `actor copier has no cache of "pods"; it has caches of ["configmaps"]`)
	require.ErrorContains(t, e.Release("copier", "configmap"), "has no cache")
}

func TestOneCacheCanBeHeldWhileOthersHear(t *testing.T) {
	e := newEngine(t, engine.Config{})
	secrets := v1.SchemeGroupVersion.WithResource("secrets")
	var heard []string
	require.NoError(t, e.Add("listener", func(env control.Env) error {
		control.NewCache[*v1.ConfigMap](env, configMaps).Handle(control.Handler[*v1.ConfigMap]{Add: func(*v1.ConfigMap) { heard = append(heard, "config map") }})
		control.NewCache[*v1.Secret](env, secrets).Handle(control.Handler[*v1.Secret]{Add: func(*v1.Secret) { heard = append(heard, "secret") }})
		return nil
	}))
	require.NoError(t, e.Settle())
	require.NoError(t, e.Hold("listener", "configmaps"))
	create(t, e, configMap("m"))
	_, err := fake.New(e.Server(), "user").CoreV1().Secrets("default").Create(context.Background(), &v1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}},
		metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, e.Settle())
	require.Equal(t, []string{"secret"}, heard)
	require.NoError(t, e.Release("listener", "configmaps"))
	require.NoError(t, e.Settle())
	require.Equal(t, []string{"secret", "config map"}, heard)
}

func TestCrashingWhatIsDownDoesNotShortenItsDowntime(t *testing.T) {
	e := newEngine(t, engine.Config{})
	require.NoError(t, e.Add("copier", copier("a", "b")))
	create(t, e, configMap("m", "a", "1"))
	require.NoError(t, e.Inject(engine.Fault{Actor: "copier", Crash: true, Restart: time.Hour}))
	require.NoError(t, e.RunFor(time.Minute))
	require.NoError(t, e.Crash("copier"))
	require.NoError(t, e.Settle())
	require.Equal(t, time.Hour, e.Now().Sub(engine.Start()))
	require.Equal(t, 1, strings.Count(e.Trace().String(), "starts again"))
	require.Equal(t, "1", get(t, e, "m").Data["b"])
}

// A crash from inside a step (by an actor's own code, a handler, or an observer
// of the server) comes after the step.
func TestACrashDuringAStepComesAfterIt(t *testing.T) {
	for name, victim := range map[string]string{"itself": "one", "another": "two"} {
		for _, where := range []string{"task", "handler", "observer"} {
			t.Run(where+" crashes "+name, func(t *testing.T) {
				e := newEngine(t, engine.Config{})
				lives := map[string]int{}
				crashed := false
				crash := func(at string) {
					if at == where && !crashed {
						crashed = true
						require.NoError(t, e.Crash(victim))
					}
				}
				factory := func(name string) control.Factory {
					return func(env control.Env) error {
						lives[name]++
						cache := control.NewCache[*v1.ConfigMap](env, configMaps)
						cache.Handle(control.Handler[*v1.ConfigMap]{Add: func(*v1.ConfigMap) {
							if name == "one" {
								crash("handler")
							}
						}})
						env.Go("work", func(ctx context.Context) {
							if name == "one" {
								crash("task")
							}
							cm := configMap(fmt.Sprintf("%s-%d", name, lives[name]))
							_, err := env.Client().CoreV1().ConfigMaps("default").Create(ctx, cm, metav1.CreateOptions{})
							require.NoError(t, err)
							require.NoError(t, env.Sleep(ctx, time.Second))
						})
						return nil
					}
				}
				require.NoError(t, e.Add("one", factory("one")))
				require.NoError(t, e.Add("two", factory("two")))
				e.Server().OnWrite(func(w trace.Write) {
					if w.Actor == "one" {
						crash("observer")
					}
				})
				create(t, e, configMap("m"))
				require.NoError(t, e.Settle())
				require.True(t, crashed)
				lives[victim]--
				require.Equal(t, map[string]int{"one": 1, "two": 1}, lives)
				require.Contains(t, e.Trace().String(), victim+" is down")
				require.Contains(t, e.Trace().String(), victim+" creates configmap default/"+victim+"-2", "the second life works")
			})
		}
	}
}

func TestAnActorsCodeCannotDriveTheEngine(t *testing.T) {
	e := newEngine(t, engine.Config{})
	var err error
	require.NoError(t, e.Add("cheeky", func(env control.Env) error {
		env.Go("drive", func(context.Context) { err = e.Settle() })
		return nil
	}))
	require.NoError(t, e.Settle())
	require.ErrorContains(t, err, "in the middle of a step")
}

func TestAPanicInAHandlerOrAFactoryFailsTheRunAndNamesIt(t *testing.T) {
	e := newEngine(t, engine.Config{})
	require.NoError(t, e.Add("handler", func(env control.Env) error {
		control.NewCache[*v1.ConfigMap](env, configMaps).Handle(control.Handler[*v1.ConfigMap]{Add: func(*v1.ConfigMap) { panic("oops") }})
		return nil
	}))
	create(t, e, configMap("m"))
	require.ErrorContains(t, e.Settle(), "handler: panic in a handler of configmaps: oops")

	e = newEngine(t, engine.Config{})
	require.ErrorContains(t, e.Add("factory", func(control.Env) error { panic("oops") }), "actor factory: panic in its factory: oops")
	require.ErrorContains(t, e.Add("sleeper", func(env control.Env) error { return env.Sleep(context.Background(), 1) }),
		"Sleep is called outside of the actor's own tasks")
	require.ErrorContains(t, e.Add("nothing", nil), `actor "nothing" needs a factory`)
	require.ErrorContains(t, e.Add("", copier("a", "b")), "needs a name")
	require.ErrorContains(t, e.Add("never", func(env control.Env) error {
		env.Every("round", 0, func(context.Context) {})
		return nil
	}), "the period 0s is not positive")
	require.Empty(t, e.Actors())

	lives := 0
	require.NoError(t, e.Add("second life", func(control.Env) error {
		if lives++; lives == 2 {
			return errors.New("no")
		}
		return nil
	}))
	require.EqualError(t, e.Add("second life", copier("a", "b")), `actor "second life" exists already`)
	require.NoError(t, e.Crash("second life"))
	require.EqualError(t, e.Settle(), "actor second life does not start again: no")
}

// A test may assert inside an actor's code: failing ends the test's goroutine, as
// anywhere else, and the engine can still be closed.
func TestATestCanFailInsideAnActorsCode(t *testing.T) {
	before := runtime.NumGoroutine()
	e := engine.New(engine.Config{})
	require.NoError(t, e.Add("failing", func(env control.Env) error {
		env.Go("assert", func(context.Context) { runtime.Goexit() }) // as testing.T.FailNow
		env.Go("wait", func(ctx context.Context) { _ = env.Sleep(ctx, time.Hour) })
		return nil
	}))
	done, returned := make(chan struct{}), false
	go func() {
		defer close(done)
		_ = e.Settle()
		returned = true
	}()
	<-done
	require.False(t, returned)
	e.Close()
	requireNoCoroutines(t, before)
}

func TestAPolicyThatChoosesWhatThereIsNotFailsTheRun(t *testing.T) {
	for _, choice := range []int{-1, 1000} {
		e := chain(t, engine.Config{Policy: constant(choice)})
		require.ErrorContains(t, e.Settle(), fmt.Sprintf("the policy chose alternative %d of ", choice))
	}
}

type constant int

func (c constant) Choose(int) int { return int(c) }

func TestChoicesOfActorsAreReplayedToo(t *testing.T) {
	run := func(policy engine.Policy) (e *engine.Engine, chosen []int) {
		e = newEngine(t, engine.Config{Policy: policy})
		for _, name := range []string{"one", "two"} {
			require.NoError(t, e.Add(name, func(env control.Env) error {
				env.Go("choose", func(ctx context.Context) {
					for range 20 {
						chosen = append(chosen, env.Choose(5))
						_ = env.Sleep(ctx, 0)
					}
				})
				return nil
			}))
		}
		require.NoError(t, e.Settle())
		return e, chosen
	}
	recorded, first := run(engine.Seeded(3))
	again, second := run(engine.Replay(recorded.Choices()))
	require.Equal(t, first, second)
	require.Equal(t, recorded.Choices(), again.Choices())
	_, inOrder := run(engine.InOrder())
	require.Equal(t, make([]int, 40), inOrder)
}

func TestFaultsCombine(t *testing.T) {
	e := newEngine(t, engine.Config{})
	require.NoError(t, e.Add("copier", copier("a", "b")))
	for i := range 5 {
		create(t, e, configMap(fmt.Sprintf("m%d", i), "a", "1"))
	}
	// The second and the third write crash it once they are carried out; every read
	// takes a second; the reads of m3 fail twice; m4's answer comes late.
	for _, f := range []engine.Fault{
		{Actor: "copier", Verb: "update", Skip: 1, Times: 2, After: true, Crash: true, Restart: time.Minute},
		{Verb: "get", Name: "m3", Err: errors.New("no"), Times: 2},
		{Actor: "copier", Verb: "get", Delay: time.Second, Times: -1},
		{Verb: "update", Name: "m4", Delay: time.Second, After: true},
	} {
		require.NoError(t, e.Inject(f))
	}
	require.NoError(t, e.Settle())
	trace := e.Trace().String()
	for i := range 5 {
		require.Equal(t, "1", get(t, e, fmt.Sprintf("m%d", i)).Data["b"])
		require.Equal(t, 1, strings.Count(trace, fmt.Sprintf("updates configmap default/m%d", i)), "what was carried out is not done again")
	}
	require.Equal(t, 2, strings.Count(trace, "copier crashes after: update"))
	require.Equal(t, 2, strings.Count(trace, "get configmaps default/m3: no"))
	require.Equal(t, 1, strings.Count(trace, "waits 1s for: update configmaps default/m4"))
	create(t, e, configMap("m5", "a", "1"))
	e.ClearFaults()
	now := e.Now()
	require.NoError(t, e.Settle())
	require.Equal(t, now, e.Now(), "no fault is left")
}

func TestADelayedAnswerIsTheAnswer(t *testing.T) {
	e := newEngine(t, engine.Config{})
	var answer error
	require.NoError(t, e.Add("asker", func(env control.Env) error {
		env.Go("ask", func(ctx context.Context) {
			_, answer = env.Client().CoreV1().ConfigMaps("default").Get(ctx, "none", metav1.GetOptions{})
		})
		return nil
	}))
	require.NoError(t, e.Inject(engine.Fault{Verb: "get", Delay: time.Second, After: true}))
	require.NoError(t, e.Settle())
	require.True(t, apierrors.IsNotFound(answer), "%v", answer)
	require.Equal(t, time.Second, e.Now().Sub(engine.Start()))
}

func TestACrashDuringADelayedCallEndsTheCall(t *testing.T) {
	e := newEngine(t, engine.Config{})
	require.NoError(t, e.Add("copier", copier("a", "b")))
	create(t, e, configMap("m", "a", "1"))
	require.NoError(t, e.Inject(engine.Fault{Verb: "update", Delay: time.Minute}))
	require.NoError(t, e.RunFor(time.Second))
	require.NoError(t, e.Crash("copier"))
	require.NoError(t, e.Settle())
	require.Equal(t, time.Second, e.Now().Sub(engine.Start()), "nobody waits for the call of the first life")
	require.Equal(t, 1, strings.Count(e.Trace().String(), "updates configmap"))
}

func TestRunUntilTakesConditionsThatReadAndRefusesTimeBackwards(t *testing.T) {
	e := newEngine(t, engine.Config{})
	require.NoError(t, e.Add("copier", copier("a", "b")))
	create(t, e, configMap("m", "a", "1"))
	require.NoError(t, e.RunUntil(time.Hour, func() bool { return get(t, e, "m").Data["b"] == "1" }))
	require.ErrorContains(t, e.RunFor(-time.Second), "a negative time cannot pass: -1s")
	require.Equal(t, engine.Start(), e.Now())
}

func TestPeriodicWorkDoesNotOvertakeItself(t *testing.T) {
	e := newEngine(t, engine.Config{})
	var began []time.Duration
	require.NoError(t, e.Add("slow", func(env control.Env) error {
		env.Every("round", time.Minute, func(ctx context.Context) {
			began = append(began, env.Now().Sub(engine.Start()))
			_ = env.Sleep(ctx, 90*time.Second)
		})
		return nil
	}))
	require.NoError(t, e.RunFor(5*time.Minute))
	require.Equal(t, []time.Duration{time.Minute, 3 * time.Minute, 5 * time.Minute}, began)
}

// Every step ends at a yield point: a call, a sleep, an empty queue, a delivery.
func TestACrashAfterAnyStepConverges(t *testing.T) {
	for _, actor := range []string{"copier-ab", "copier-bc", "copier-cd"} {
		steps := uint64(1)
		for n := uint64(0); n < steps; n++ {
			e := chain(t, engine.Config{})
			for range n {
				_, err := e.Step()
				require.NoError(t, err)
			}
			require.NoError(t, e.Crash(actor))
			require.NoError(t, e.Settle())
			for i := range 5 {
				require.Equal(t, fmt.Sprint(i), get(t, e, fmt.Sprintf("map-%d", i)).Data["d"], "%s crashes after step %d", actor, n)
			}
			steps = e.Steps()
			e.Close()
		}
		require.Greater(t, steps, uint64(50))
	}
}

// A reader sees the object of a queue's key instead of the key, as everywhere else.
func TestRetriesAndLivelocksNameObjectsAndNotKeys(t *testing.T) {
	e := newEngine(t, engine.Config{StepLimit: 1000})
	require.NoError(t, e.Add("failer", func(env control.Env) error {
		failing := env.Queue(control.QueueConfig{
			Name: "claims", About: control.KeysOf("PersistentVolumeClaim"), MaxRetries: 1,
			Reconcile: func(context.Context, string) error { return errors.New("no") },
		})
		failing.Add("default/data")
		return nil
	}))
	require.NoError(t, e.Settle())
	trace := e.Trace().String()
	require.Contains(t, trace, "failer will retry pvc default/data in 5ms: no\n")
	require.Contains(t, trace, "failer gives up pvc default/data after 2 failures: no\n")

	require.NoError(t, e.Add("spinner", func(env control.Env) error {
		var queue control.Queue
		queue = env.Queue(control.QueueConfig{
			Name: "volumes", About: control.KeysOf("PersistentVolume"),
			Reconcile: func(_ context.Context, key string) error { queue.AddAfter(key, time.Microsecond); return nil },
		})
		queue.Add("pv-1")
		return nil
	}))
	require.ErrorContains(t, e.Settle(), "times on pv pv-1\n")
}

func TestALongMessageAndALongErrorAreCut(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	e := engine.New(engine.Config{})
	defer e.Close()
	require.NoError(t, e.Add("talker", func(env control.Env) error {
		queue := env.Queue(control.QueueConfig{Name: "maps", Reconcile: func(context.Context, string) error {
			env.Recorder("talker").Event(configMap("m"), v1.EventTypeNormal, "Hello", long)
			return errors.New(long)
		}})
		queue.Add("m")
		return nil
	}))
	for range 20 {
		_, err := e.Step()
		require.NoError(t, err)
	}
	story := e.Trace().Story(engine.Start())
	require.Contains(t, story, "says of configmap default/m: Normal Hello: "+long[:16<<10]+"... 3129344 bytes more")
	require.Regexp(t, `will retry maps m in \S+: x+\.\.\. 3129344 bytes more`, story)
	require.Less(t, len(story), 1<<20)
}
