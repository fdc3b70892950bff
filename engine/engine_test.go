package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/seedtest"
	"github.com/storagesim/storagesim/trace"
)

var configMaps = v1.SchemeGroupVersion.WithResource("configmaps")

func configMap(name string, data ...string) *v1.ConfigMap {
	cm := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Data: map[string]string{}}
	for i := 0; i+1 < len(data); i += 2 {
		cm.Data[data[i]] = data[i+1]
	}
	return cm
}

// copier returns a small controller: whatever config map has the key "from", it
// gives the key "to" the same value, after reading it live.
func copier(from, to string) control.Factory {
	return func(env control.Env) error {
		cache := control.NewCache[*v1.ConfigMap](env, configMaps)
		maps := env.Client().CoreV1().ConfigMaps("default")
		queue := env.Queue(control.QueueConfig{Name: "maps", Workers: 2, Reconcile: func(ctx context.Context, key string) error {
			cached, ok := cache.Get(key)
			if !ok || cached.Data[from] == "" || cached.Data[from] == cached.Data[to] {
				return nil
			}
			cm, err := maps.Get(ctx, cached.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			cm.Data[to] = cm.Data[from]
			_, err = maps.Update(ctx, cm, metav1.UpdateOptions{})
			return err
		}})
		cache.Handle(control.Enqueue[*v1.ConfigMap](queue.Add))
		return nil
	}
}

func newEngine(t testing.TB, cfg engine.Config) *engine.Engine {
	t.Helper()
	e := engine.New(cfg)
	t.Cleanup(e.Close)
	return e
}

func create(t testing.TB, e *engine.Engine, cm *v1.ConfigMap) {
	t.Helper()
	_, err := fake.New(e.Server(), "user").CoreV1().ConfigMaps(cm.Namespace).Create(context.Background(), cm, metav1.CreateOptions{})
	require.NoError(t, err)
}

func get(t testing.TB, e *engine.Engine, name string) *v1.ConfigMap {
	t.Helper()
	cm, err := fake.New(e.Server(), "user").CoreV1().ConfigMaps("default").Get(context.Background(), name, metav1.GetOptions{})
	require.NoError(t, err)
	return cm
}

// chain makes a run with some interplay: a -> b -> c -> d by three controllers.
func chain(t testing.TB, cfg engine.Config) *engine.Engine {
	t.Helper()
	e := newEngine(t, cfg)
	for _, link := range []string{"ab", "bc", "cd"} {
		require.NoError(t, e.Add("copier-"+link, copier(link[:1], link[1:])))
	}
	for i := range 5 {
		create(t, e, configMap(fmt.Sprintf("map-%d", i), "a", fmt.Sprint(i)))
	}
	return e
}

func TestSettleRunsToAFixedPoint(t *testing.T) {
	e := chain(t, engine.Config{})
	require.NoError(t, e.Settle())
	for i := range 5 {
		require.Equal(t, fmt.Sprint(i), get(t, e, fmt.Sprintf("map-%d", i)).Data["d"])
	}
	steps := e.Steps()
	require.NoError(t, e.Settle())
	require.Equal(t, steps, e.Steps(), "a settled engine has nothing to do")
	require.Equal(t, engine.Start(), e.Now(), "no time was needed")
}

func TestTheSameSeedGivesTheSameTrace(t *testing.T) {
	var mu sync.Mutex
	different := map[string]bool{}
	tried := seedtest.Each(t, 200, func(t testing.TB, seed uint64) {
		run := func() string {
			e := chain(t, engine.Config{Policy: engine.Seeded(seed), Seed: seed})
			require.NoError(t, e.Settle())
			for i := range 5 {
				require.Equal(t, fmt.Sprint(i), get(t, e, fmt.Sprintf("map-%d", i)).Data["d"])
			}
			return e.Trace().String()
		}
		first := run()
		require.Equal(t, first, run())
		mu.Lock()
		defer mu.Unlock()
		different[first] = true
	})
	require.Greater(t, len(different), tried*3/4, "seeds explore different orders")
}

func TestReplayRepeatsARecordedRun(t *testing.T) {
	e := chain(t, engine.Config{Policy: engine.Seeded(7)})
	require.NoError(t, e.Settle())
	require.NotEmpty(t, e.Choices())

	again := chain(t, engine.Config{Policy: engine.Replay(e.Choices())})
	require.NoError(t, again.Settle())
	require.Equal(t, e.Trace().String(), again.Trace().String())

	inOrder := chain(t, engine.Config{})
	require.NoError(t, inOrder.Settle())
	require.NotEqual(t, e.Trace().String(), inOrder.Trace().String())

	edited := chain(t, engine.Config{Policy: engine.Replay([]uint32{9, 9, 9, 4_000_000_000})})
	require.NoError(t, edited.Settle(), "a list that fits nothing is still a run")
}

func TestSleepTakesVirtualTimeAndSettleWaitsForIt(t *testing.T) {
	e := newEngine(t, engine.Config{})
	var woke []time.Duration
	require.NoError(t, e.Add("sleeper", func(env control.Env) error {
		for _, d := range []time.Duration{2 * time.Hour, time.Hour} {
			env.Go("nap", func(ctx context.Context) {
				if err := env.Sleep(ctx, d); err == nil {
					woke = append(woke, env.Now().Sub(engine.Start()))
				}
			})
		}
		return nil
	}))
	require.NoError(t, e.Settle())
	require.Equal(t, []time.Duration{time.Hour, 2 * time.Hour}, woke)
}

// poller polls for a config map.
func poller(timeout time.Duration, result *error, looks *int) control.Factory {
	return func(env control.Env) error {
		env.Go("poll", func(ctx context.Context) {
			*result = env.Poll(ctx, time.Second, timeout, func(ctx context.Context) (bool, error) {
				*looks++
				_, err := env.Client().CoreV1().ConfigMaps("default").Get(ctx, "answer", metav1.GetOptions{})
				if apierrors.IsNotFound(err) {
					return false, nil
				}
				return err == nil, err
			})
		})
		return nil
	}
}

func TestSettleDoesNotWaitForAPollThatNobodyAnswers(t *testing.T) {
	pending := errors.New("pending")
	result, looks := pending, 0
	e := newEngine(t, engine.Config{})
	require.NoError(t, e.Add("poller", poller(10*time.Minute, &result, &looks)))
	require.NoError(t, e.Settle())
	require.Equal(t, pending, result)
	require.Equal(t, 1, looks, "it looks once, sees nothing, and the cluster is at rest")

	create(t, e, configMap("answer"))
	require.NoError(t, e.Settle())
	require.NoError(t, result)
	require.Equal(t, 2*time.Second, e.Now().Sub(engine.Start()))
}

// Upstream: k8s.io/apimachinery wait.PollUntilContextTimeout, which ends with its context.
func TestAWaitEndsAtOnceWhenItsContextIsCancelled(t *testing.T) {
	why := errors.New("no longer needed")
	for name, wait := range map[string]func(control.Env, context.Context) error{
		"poll":  func(env control.Env, ctx context.Context) error { return env.Poll(ctx, time.Hour, 0, nil) },
		"sleep": func(env control.Env, ctx context.Context) error { return env.Sleep(ctx, time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, engine.Config{})
			var slept []time.Duration
			require.NoError(t, e.Add("waiter", func(env control.Env) error {
				waits, cancel := control.WithCancelCause(context.Background())
				env.Go("wait", func(context.Context) {
					assert.ErrorIs(t, wait(env, waits), context.Canceled)
					slept = append(slept, env.Now().Sub(engine.Start()))
					assert.Equal(t, why, context.Cause(waits))
					assert.NoError(t, env.Sleep(context.Background(), 2*time.Hour), "the wait that was given up wakes nobody")
					slept = append(slept, env.Now().Sub(engine.Start()))
				})
				env.Go("cancel", func(ctx context.Context) {
					assert.NoError(t, env.Sleep(ctx, time.Minute))
					cancel(why)
				})
				return nil
			}))
			require.NoError(t, e.Settle())
			require.Equal(t, []time.Duration{time.Minute, 2*time.Hour + time.Minute}, slept)
		})
	}
}

// Upstream: k8s.io/apimachinery wait.PollUntilContextTimeout, which does not wait in a context that has ended.
func TestNothingWaitsInAContextThatIsCancelledAlready(t *testing.T) {
	e, ended := newEngine(t, engine.Config{}), false
	require.NoError(t, e.Add("waiter", func(env control.Env) error {
		env.Go("wait", func(context.Context) {
			waits, cancel := control.WithCancelCause(context.Background())
			looks := 0
			err := env.Poll(waits, time.Minute, 0, func(context.Context) (bool, error) {
				looks++
				cancel(errors.New("while it looks"))
				return false, nil
			})
			assert.ErrorIs(t, err, context.Canceled)
			assert.ErrorIs(t, env.Poll(waits, time.Hour, 0, nil), context.Canceled)
			assert.ErrorIs(t, env.Sleep(waits, time.Hour), context.Canceled)
			assert.Equal(t, 1, looks)
			assert.Equal(t, time.Minute, env.Now().Sub(engine.Start()))
			ended = true
		})
		return nil
	}))
	require.NoError(t, e.RunFor(time.Hour))
	require.True(t, ended)
}

func TestACancelledContextEndsTheWaitsInThoseMadeOfIt(t *testing.T) {
	e := newEngine(t, engine.Config{})
	require.NoError(t, e.Add("waiter", func(env control.Env) error {
		outer, cancel := control.WithCancelCause(context.Background())
		env.Go("wait", func(context.Context) {
			inner, end := control.WithCancelCause(outer)
			defer end(nil)
			assert.ErrorIs(t, env.Sleep(inner, time.Hour), context.Canceled)
			assert.Equal(t, time.Minute, env.Now().Sub(engine.Start()))
		})
		env.Go("cancel", func(ctx context.Context) {
			assert.NoError(t, env.Sleep(ctx, time.Minute))
			cancel(nil)
		})
		return nil
	}))
	require.NoError(t, e.Settle())
}

func TestSettleDoesNotWaitForTheTimeOfAWaitThatWasCancelledInTheBackground(t *testing.T) {
	e := newEngine(t, engine.Config{})
	require.NoError(t, e.Add("waiter", func(env control.Env) error {
		waits, cancel := control.WithCancelCause(context.Background())
		env.Go("wait", func(context.Context) {
			assert.ErrorIs(t, env.Sleep(waits, time.Hour), context.Canceled)
			assert.NoError(t, env.Sleep(context.Background(), time.Second))
		})
		env.Go("cancel", func(ctx context.Context) {
			assert.NoError(t, env.Sleep(control.InBackground(ctx), time.Minute))
			cancel(nil)
		})
		env.Every("later", 5*time.Minute, func(context.Context) {})
		return nil
	}))
	require.NoError(t, e.Settle())
	require.Equal(t, time.Minute+time.Second, e.Now().Sub(engine.Start()))
}

func TestAPollTimesOut(t *testing.T) {
	var result error
	looks := 0
	e := newEngine(t, engine.Config{})
	require.NoError(t, e.Add("poller", poller(time.Minute, &result, &looks)))
	require.NoError(t, e.RunFor(59*time.Second))
	require.NoError(t, result)
	require.NoError(t, e.RunFor(time.Second))
	require.ErrorIs(t, result, control.ErrTimeout)
	require.Equal(t, 60, looks)
}

func TestPeriodicWorkIsNotWaitedFor(t *testing.T) {
	for _, test := range []struct {
		phase time.Duration
		want  int // rounds in a minute
	}{{0, 4}, {14 * time.Second, 4}, {5 * time.Second, 4}} {
		e := newEngine(t, engine.Config{Phase: test.phase})
		var rounds []time.Duration
		require.NoError(t, e.Add("resyncer", func(env control.Env) error {
			env.Every("resync", 15*time.Second, func(context.Context) { rounds = append(rounds, env.Now().Sub(engine.Start())) })
			return nil
		}))
		require.NoError(t, e.Settle())
		require.Empty(t, rounds)
		require.NoError(t, e.RunFor(time.Minute))
		require.Len(t, rounds, test.want)
		require.Equal(t, 15*time.Second-test.phase, rounds[0])
	}
}

func TestAFailingKeyIsRetriedWithBackoffUntilPatienceEnds(t *testing.T) {
	var at []time.Duration
	e := newEngine(t, engine.Config{})
	require.NoError(t, e.Add("failer", func(env control.Env) error {
		q := env.Queue(control.QueueConfig{
			Name: "keys", Limiter: control.RateLimiter{Base: 10 * time.Second, Max: 100 * time.Second},
			Reconcile: func(context.Context, string) error {
				at = append(at, env.Now().Sub(engine.Start()))
				return errors.New("no")
			},
		})
		q.Add("x")
		return nil
	}))
	require.NoError(t, e.Settle())
	require.Equal(t, []time.Duration{0, 10 * time.Second, 30 * time.Second, 70 * time.Second}, at, "80 s is beyond a minute's patience")
	require.NoError(t, e.RunFor(10*time.Minute))
	require.Equal(t, 150*time.Second, at[4])
	require.Equal(t, 250*time.Second, at[5], "capped")
	require.Contains(t, e.Trace().String(), "failer will retry keys x in 20s: no")
}

// A backoff that cannot grow beyond a minute would be awaited for ever.
func TestAKeyThatKeepsFailingWithTheLongestBackoffIsNotAwaitedForLongerThanPatience(t *testing.T) {
	for _, test := range []struct {
		base, max time.Duration
		attempts  int // at 0 s, and then after each backoff that is awaited
	}{
		{10 * time.Second, 10 * time.Second, 1 + 6},
		{10 * time.Second, 15 * time.Second, 1 + 1 + 4},
		{10 * time.Second, 40 * time.Second, 1 + 2 + 1},
		{45 * time.Second, 45 * time.Second, 1 + 1},
	} {
		attempts, fails := 0, true
		e := newEngine(t, engine.Config{})
		require.NoError(t, e.Add("failer", func(env control.Env) error {
			q := env.Queue(control.QueueConfig{
				Name: "keys", Limiter: control.RateLimiter{Base: test.base, Max: test.max, QPS: -1},
				Reconcile: func(context.Context, string) error {
					attempts++
					if fails {
						return errors.New("no")
					}
					return nil
				},
			})
			q.Add("x")
			return nil
		}))
		require.NoError(t, e.Settle())
		require.Equal(t, test.attempts, attempts, "%s to %s", test.base, test.max)
		fails = false
		require.NoError(t, e.RunFor(time.Minute))
		require.Equal(t, test.attempts+1, attempts, "it is tried all the same")
	}
}

func TestAKeyIsGivenUpAfterMaxRetries(t *testing.T) {
	attempts := 0
	var q control.Queue
	e := newEngine(t, engine.Config{})
	require.NoError(t, e.Add("failer", func(env control.Env) error {
		q = env.Queue(control.QueueConfig{Name: "keys", MaxRetries: 3, Reconcile: func(context.Context, string) error {
			attempts++
			return errors.New("no")
		}})
		q.Add("x")
		return nil
	}))
	require.NoError(t, e.Settle())
	require.Equal(t, 4, attempts)
	q.Add("x")
	require.NoError(t, e.Settle())
	require.Equal(t, 5, attempts, "the failures are not forgotten")
}

func TestTheBucketSlowsMassFailures(t *testing.T) {
	e := newEngine(t, engine.Config{})
	require.NoError(t, e.Add("failer", func(env control.Env) error {
		failed := map[string]bool{}
		q := env.Queue(control.QueueConfig{Name: "keys", Reconcile: func(_ context.Context, key string) error {
			if !failed[key] {
				failed[key] = true
				return errors.New("once")
			}
			return nil
		}})
		for i := range 200 {
			q.Add(fmt.Sprint(i))
		}
		return nil
	}))
	require.NoError(t, e.Settle())
	require.InDelta(t, 10, e.Now().Sub(engine.Start()).Seconds(), 0.2, "100 at once, 100 more at 10 a second")
}

func TestAKeyIsNeverWorkedOnTwiceAtOnce(t *testing.T) {
	seedtest.Each(t, 50, func(t testing.TB, seed uint64) {
		working, runs := false, 0
		e := newEngine(t, engine.Config{Policy: engine.Seeded(seed)})
		var q control.Queue
		require.NoError(t, e.Add("worker", func(env control.Env) error {
			q = env.Queue(control.QueueConfig{Name: "keys", Workers: 4, Reconcile: func(ctx context.Context, _ string) error {
				require.False(t, working)
				working = true
				runs++
				if runs == 1 {
					q.Add("x")
					q.Add("x")
				}
				_, err := env.Client().CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
				working = false
				return err
			}})
			q.Add("x")
			return nil
		}))
		require.NoError(t, e.Settle())
		require.Equal(t, 2, runs, "added while in work: once more")
	})
}

func TestALivelockIsReportedInWords(t *testing.T) {
	e := newEngine(t, engine.Config{StepLimit: 5000})
	flip := func(from, to string) control.Factory {
		return func(env control.Env) error {
			cache := control.NewCache[*v1.ConfigMap](env, configMaps)
			q := env.Queue(control.QueueConfig{Name: "maps", Reconcile: func(ctx context.Context, key string) error {
				cm, ok := cache.Get(key)
				if !ok || cm.Data["v"] != from {
					return nil
				}
				cm = cm.DeepCopy()
				cm.Data["v"] = to
				_, err := env.Client().CoreV1().ConfigMaps("default").Update(ctx, cm, metav1.UpdateOptions{})
				return err
			}})
			cache.Handle(control.Enqueue[*v1.ConfigMap](q.Add))
			return nil
		}
	}
	require.NoError(t, e.Add("on", flip("off", "on")))
	require.NoError(t, e.Add("off", flip("on", "off")))
	create(t, e, configMap("switch", "v", "on"))
	err := e.Settle()
	require.ErrorContains(t, err, "livelock: not at rest after 5000 steps")
	require.ErrorContains(t, err, "on worked")
	require.ErrorContains(t, err, "times on maps default/switch")
	require.Regexp(t, `configmap default/switch was written \d{3,} times, by off and on`, err.Error())
	require.NotContains(t, err.Error(), "created")
	require.ErrorContains(t, err, "latest: ")
}

func TestAPanicInAnActorFailsTheRunAndNamesIt(t *testing.T) {
	e := newEngine(t, engine.Config{})
	require.NoError(t, e.Add("buggy", func(env control.Env) error {
		env.Go("doing something", func(context.Context) { panic("oops") })
		return nil
	}))
	err := e.Settle()
	require.ErrorContains(t, err, "buggy: panic in doing something: oops")
	require.ErrorContains(t, err, "engine_test.go", "with the stack")
}

func TestAHeldCacheIsStaleUntilReleased(t *testing.T) {
	e := newEngine(t, engine.Config{})
	require.NoError(t, e.Add("copier", copier("a", "b")))
	require.NoError(t, e.Settle())
	require.NoError(t, e.Hold("copier", "configmaps"))
	create(t, e, configMap("m", "a", "1"))
	require.NoError(t, e.Settle())
	require.Empty(t, get(t, e, "m").Data["b"])
	require.NoError(t, e.Release("copier", "configmaps"))
	require.NoError(t, e.Settle())
	require.Equal(t, "1", get(t, e, "m").Data["b"])
	require.ErrorContains(t, e.Hold("nobody", "configmaps"), `no actor is called "nobody"; expected copier`)
}

func TestAFeedThatFellBehindRelists(t *testing.T) {
	e := newEngine(t, engine.Config{})
	require.NoError(t, e.Add("copier", copier("a", "b")))
	create(t, e, configMap("gone"))
	require.NoError(t, e.Settle())
	require.NoError(t, e.Hold("copier", "configmaps"))
	maps := fake.New(e.Server(), "user").CoreV1().ConfigMaps("default")
	require.NoError(t, maps.Delete(context.Background(), "gone", metav1.DeleteOptions{}))
	create(t, e, configMap("m", "a", "1"))
	for i := range 20_000 {
		cm := get(t, e, "m")
		cm.Data["n"] = fmt.Sprint(i)
		_, err := maps.Update(context.Background(), cm, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	require.NoError(t, e.Release("copier", "configmaps"))
	require.NoError(t, e.Settle())
	require.Equal(t, "1", get(t, e, "m").Data["b"])
}

func TestCrashAtEveryYieldPointConverges(t *testing.T) {
	calls := func(after bool, skip int) bool {
		e := newEngine(t, engine.Config{})
		require.NoError(t, e.Add("copier", copier("a", "b")))
		require.NoError(t, e.Add("other", copier("b", "c")))
		for i := range 3 {
			create(t, e, configMap(fmt.Sprintf("map-%d", i), "a", "1"))
		}
		require.NoError(t, e.Inject(engine.Fault{Actor: "copier", Skip: skip, After: after, Crash: true, Restart: time.Second}))
		require.NoError(t, e.Settle())
		for i := range 3 {
			require.Equal(t, "1", get(t, e, fmt.Sprintf("map-%d", i)).Data["c"], "crash at call %d, after: %v", skip, after)
		}
		story := e.Trace().String()
		return strings.Contains(story, "copier is down") && strings.Contains(story, "copier starts again")
	}
	for _, after := range []bool{false, true} {
		skip := 0
		for calls(after, skip) {
			skip++
		}
		require.Equal(t, 6, skip, "three reads and three writes")
	}
}

func TestACrashForgetsMemoryAndStopsTheCodeWhereItWas(t *testing.T) {
	lives, finished, deferred := 0, 0, 0
	e := newEngine(t, engine.Config{})
	require.NoError(t, e.Add("mortal", func(env control.Env) error {
		lives++
		env.Go("long work", func(ctx context.Context) {
			defer func() {
				deferred++
				// A deferred call reaches nothing any more.
				_ = env.Client().CoreV1().ConfigMaps("default").Delete(ctx, "precious", metav1.DeleteOptions{})
			}()
			if env.Sleep(ctx, time.Minute) == nil {
				finished++
			}
		})
		return nil
	}))
	create(t, e, configMap("precious"))
	require.NoError(t, e.RunFor(30*time.Second))
	require.NoError(t, e.Crash("mortal"))
	get(t, e, "precious")
	require.Equal(t, []int{1, 0, 1}, []int{lives, finished, deferred})
	require.NoError(t, e.Crash("mortal"), "crashing what is down changes nothing")
	require.NoError(t, e.RunFor(time.Minute))
	require.Equal(t, []int{2, 1, 2}, []int{lives, finished, deferred})
}

func TestFaultsRefuseDelayAndLoseAnswers(t *testing.T) {
	refused := apierrors.NewInternalError(errors.New("etcd is full"))
	for _, test := range []struct {
		name  string
		fault engine.Fault
		wrote bool // the first update was carried out
		took  time.Duration
		says  string
	}{
		{"refused", engine.Fault{Verb: "update", Err: refused}, false, 5 * time.Millisecond, "etcd is full"},
		{"refused three times", engine.Fault{Verb: "update", Err: refused, Times: 3}, false, 35 * time.Millisecond, "etcd is full"},
		{"answer lost", engine.Fault{Verb: "update", After: true}, true, 5 * time.Millisecond, "the answer was lost"},
		{"delayed", engine.Fault{Verb: "update", Delay: 3 * time.Second}, true, 3 * time.Second, "waits 3s for: update configmaps default/m"},
		{"another resource", engine.Fault{Resource: "pods", Err: refused}, true, 0, ""},
		{"the second call", engine.Fault{Skip: 1, Err: refused}, false, 5 * time.Millisecond, "etcd is full"},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := newEngine(t, engine.Config{})
			require.NoError(t, e.Add("copier", copier("a", "b")))
			require.NoError(t, e.Inject(test.fault))
			create(t, e, configMap("m", "a", "1"))
			require.NoError(t, e.Settle())
			require.Equal(t, "1", get(t, e, "m").Data["b"])
			require.Equal(t, test.took, e.Now().Sub(engine.Start()))
			require.Contains(t, e.Trace().String(), test.says)
		})
	}
}

func TestSenselessFaultsAreRefused(t *testing.T) {
	e := newEngine(t, engine.Config{})
	for says, fault := range map[string]engine.Fault{
		`no actor is called "x"`:                         {Actor: "x", Crash: true},
		`unknown verb "make"; expected one of get, list`: {Verb: "make", Crash: true},
		"only one of Crash, Err and Delay":               {Crash: true, Delay: 1},
		"one of Crash, Err, Delay and After must be":     {},
		"fault: Delay: -1s is negative; it must be 0 or": {Delay: -time.Second, Crash: true},
		"Restart is the downtime of a Crash":             {Restart: 1, After: true},
	} {
		require.ErrorContains(t, e.Inject(fault), says)
	}
}

func TestRunUntilSaysWhenItWillNeverBe(t *testing.T) {
	e := newEngine(t, engine.Config{})
	require.ErrorContains(t, e.RunUntil(time.Hour, func() bool { return false }), "nothing is left to happen")
	require.NoError(t, e.Add("resyncer", func(env control.Env) error {
		env.Every("resync", time.Minute, func(context.Context) {})
		return nil
	}))
	require.ErrorContains(t, e.RunUntil(time.Hour, func() bool { return false }), "does not hold after 1h0m0s")
	require.NoError(t, e.RunUntil(time.Hour, func() bool { return e.Now().Sub(engine.Start()) > 90*time.Minute }))
}

func TestStepTakesOneStep(t *testing.T) {
	e := chain(t, engine.Config{})
	n := 0
	for {
		more, err := e.Step()
		require.NoError(t, err)
		if !more {
			break
		}
		n++
	}
	require.Greater(t, n, 50)
	require.Equal(t, "4", get(t, e, "map-4").Data["d"])
}

func TestACacheWithoutNewsTakesNoStep(t *testing.T) {
	e := newEngine(t, engine.Config{})
	told := 0
	require.NoError(t, e.Add("reader", func(env control.Env) error {
		control.NewCache[*v1.ConfigMap](env, configMaps).Handle(control.Enqueue[*v1.ConfigMap](func(string) { told++ }))
		return nil
	}))
	require.NoError(t, e.Settle())
	before := e.Steps()
	for n := range 3 {
		create(t, e, configMap(fmt.Sprint(n)))
	}
	require.NoError(t, e.Settle())
	require.Equal(t, 3, told)
	require.Equal(t, before+3, e.Steps(), "one for each change")
}

func TestTheLongestPeriodIsThatOfTheActorsThatThereAre(t *testing.T) {
	e := newEngine(t, engine.Config{})
	require.Zero(t, e.LongestPeriod())
	for i, period := range []time.Duration{10 * time.Second, 30 * time.Second, 15 * time.Second} {
		require.NoError(t, e.Add(fmt.Sprint("resyncer-", i), func(env control.Env) error {
			env.Every("resync", period, func(context.Context) {})
			return nil
		}))
	}
	require.NoError(t, e.Settle())
	require.Equal(t, 30*time.Second, e.LongestPeriod())
	require.NoError(t, e.Stop("resyncer-1"))
	require.Equal(t, 15*time.Second, e.LongestPeriod(), "one that is stopped has no turn")
	require.NoError(t, e.Start("resyncer-1"))
	require.NoError(t, e.Settle())
	require.Equal(t, 30*time.Second, e.LongestPeriod())
}

func TestTheStoryOmitsWhatWasSaidBefore(t *testing.T) {
	e := newEngine(t, engine.Config{})
	cm := configMap("m")
	create(t, e, cm)
	require.NoError(t, e.Add("talker", func(env control.Env) error {
		env.Go("talk", func(ctx context.Context) {
			for range 3 {
				env.Recorder("talker").Event(cm, v1.EventTypeNormal, "Hello", "here I am")
				_ = env.Sleep(ctx, 1500*time.Millisecond)
			}
		})
		return nil
	}))
	require.NoError(t, e.Settle())
	require.Equal(t, 1, strings.Count(trace.Tell(e.Trace().Entries(), trace.Telling{}), "here I am"))
	require.Equal(t, 3, strings.Count(e.Trace().String(), "here I am"))
	events, err := fake.New(e.Server(), "user").CoreV1().Events("default").List(context.Background(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, events.Items, 1)
	require.EqualValues(t, 3, events.Items[0].Count)
	require.Equal(t, "0:00:01.500", trace.Offset(1500*time.Millisecond))
}

func TestTheTraceKeepsOnlyTheLatest(t *testing.T) {
	e := newEngine(t, engine.Config{TraceLimit: 10})
	for i := range 100 {
		create(t, e, configMap(fmt.Sprint("m", i)))
	}
	require.LessOrEqual(t, len(e.Trace().Entries()), 10)
	require.Equal(t, 100, e.Trace().Len())
	require.Contains(t, e.Trace().Tail(1)[0].String(), "user creates configmap default/m99")
	require.Len(t, e.Trace().Since(98), 2)
}

func TestTheTraceOfManyUpdatesOfALargeObjectTakesLittleMemory(t *testing.T) {
	e := newEngine(t, engine.Config{})
	maps := fake.New(e.Server(), "user").CoreV1().ConfigMaps("default")
	cm := configMap("big", "v", "")
	create(t, e, cm)
	for i := range 300 {
		cm.Data["v"] = strings.Repeat(string(rune('a'+i%26)), 1_000_000)
		cm.Data["n"] = fmt.Sprint(i)
		_, err := maps.Update(context.Background(), cm, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	held := 0
	for _, entry := range e.Trace().Entries() {
		w := entry.Record.(trace.Write)
		for _, obj := range []any{w.Old, w.New, w.Last} {
			if sized, ok := obj.(interface{ Size() int }); ok {
				held += sized.Size()
			}
		}
		held += len(w.String())
	}
	require.Less(t, held, 2<<20, "bytes of 300 MB")
	last := e.Trace().Tail(1)[0].String()
	require.Contains(t, last, "user updates configmap default/big: data.n = 299, data.v = "+strings.Repeat(string(rune('a'+299%26)), 500)+
		"... (1000000 bytes in all)")
	require.Equal(t, 301, e.Trace().Len())
	require.Zero(t, e.Trace().Dropped())
}

func TestTheTraceIsBoundedInBytesAndSaysWhatItDropped(t *testing.T) {
	e := newEngine(t, engine.Config{TraceBytes: 1 << 20})
	value := strings.Repeat("x", 10_000)
	for i := range 500 {
		create(t, e, configMap(fmt.Sprint("m", i), "v", value))
	}
	kept := len(e.Trace().Entries())
	require.Less(t, kept, 105, "5 MB of them")
	require.Greater(t, kept, 40)
	require.Equal(t, 500, e.Trace().Len())
	note := fmt.Sprintf("(%d earlier records were dropped: the trace keeps at most 1000000 records and about 1 MiB)\n", 500-kept)
	require.True(t, strings.HasPrefix(e.Trace().String(), note))
	require.True(t, strings.HasPrefix(e.Trace().Story(engine.Start()), note))
	require.Contains(t, e.Trace().Tail(1)[0].String(), "creates configmap default/m499")
}

// What is asked of a record does not depend on how large the object was.
func TestALargeObjectsRecordsSayTheSame(t *testing.T) {
	tell := func(size int) []string {
		e := newEngine(t, engine.Config{})
		maps := fake.New(e.Server(), "user").CoreV1().ConfigMaps("default")
		cm := configMap("m", "pad", strings.Repeat("x", size))
		cm.Finalizers = []string{"example.com/hold"}
		create(t, e, cm)
		for _, patch := range []string{`{"data":{"a":"b"}}`, `{"data":{"a":"b"}}`, `{"data":{"a":null}}`} {
			_, err := maps.Patch(context.Background(), "m", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			require.NoError(t, err)
		}
		require.NoError(t, maps.Delete(context.Background(), "m", metav1.DeleteOptions{}))
		_, err := maps.Patch(context.Background(), "m", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		require.NoError(t, err)
		var told []string
		for _, entry := range e.Trace().Entries() {
			w := entry.Record.(trace.Write)
			told = append(told, fmt.Sprint(entry, w.Old == nil, w.New == nil, w.Last == nil, w.Old == w.New))
		}
		return told
	}
	require.Equal(t, tell(10), tell(100_000))
}

func BenchmarkIdleSteps(b *testing.B) {
	e := engine.New(engine.Config{})
	defer e.Close()
	if err := e.Add("spinner", func(env control.Env) error {
		env.Go("spin", func(ctx context.Context) {
			for {
				if env.Sleep(ctx, 0) != nil {
					return
				}
			}
		})
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := e.Step(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "steps/s")
}

func TestTheEngineKnowsWhoTookTheLastStep(t *testing.T) {
	e := engine.New(engine.Config{})
	t.Cleanup(e.Close)
	require.Empty(t, e.LastActor())
	require.NoError(t, e.Add("follower", func(env control.Env) error {
		control.NewCache[*v1.PersistentVolumeClaim](env, control.PersistentVolumeClaims())
		return nil
	}))
	require.NoError(t, e.Settle())
	require.Equal(t, "follower", e.LastActor(), "its cache was listed")
	require.NoError(t, e.Add("worker", func(env control.Env) error {
		env.Go("work", func(ctx context.Context) { _ = env.Sleep(ctx, time.Second) })
		return nil
	}))
	require.NoError(t, e.Settle())
	require.Equal(t, "worker", e.LastActor())
}

func TestATranscriptIsAsWideAsItIsTold(t *testing.T) {
	entries := []trace.Entry{
		{Time: engine.Start(), Actor: "user",
			Record: trace.Decision{About: trace.Ref{Kind: "Pod", Namespace: "default", Name: "web"}, Text: strings.Repeat("six ", 15) + "one two three four"}},
		{Time: engine.Start(), Actor: "kubelet", Record: trace.Decision{About: trace.Ref{Kind: "Pod", Name: "a"}, Text: "one\ntwo"}},
	}
	require.Equal(t, "  0:00:00  user     pod default/web: "+strings.Repeat("six ", 15)+
		"one\n                      two three four\n           kubelet  pod a: one; two\n",
		trace.Tell(entries, trace.Telling{Width: 102}))
	require.Equal(t, "  0:00:00  user     POD DEFAULT/WEB: "+strings.Repeat("SIX ", 15)+"ONE TWO THREE FOUR\n           kubelet  POD A: ONE; TWO\n",
		trace.Tell(entries, trace.Telling{Shorten: strings.ToUpper}))
}

func TestAHeartbeatGoesOnWhereEverythingElseWaitsForTheFirstList(t *testing.T) {
	e := newEngine(t, engine.Config{})
	beats, rounds, keys := 0, 0, 0
	require.NoError(t, e.Add("watcher", func(env control.Env) error {
		control.NewCache[*v1.ConfigMap](env, configMaps)
		env.Heartbeat("beat", 10*time.Second, func(context.Context) { beats++ })
		env.Every("round", 10*time.Second, func(context.Context) { rounds++ })
		q := env.Queue(control.QueueConfig{Name: "keys", Reconcile: func(context.Context, string) error { keys++; return nil }})
		q.Add("x")
		return nil
	}))
	require.NoError(t, e.Hold("watcher", "configmaps"))
	require.NoError(t, e.RunFor(time.Minute))
	require.Equal(t, []int{6, 0, 0}, []int{beats, rounds, keys})
	require.NoError(t, e.Release("watcher", "configmaps"))
	require.NoError(t, e.RunFor(time.Minute))
	require.Equal(t, []int{12, 1}, []int{beats, keys})
	require.GreaterOrEqual(t, rounds, 6)
}
