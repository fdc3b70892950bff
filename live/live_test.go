package live_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/live"
	"github.com/storagesim/storagesim/storagesimtest"
)

const claimAndVolume = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv}
spec:
  storageClassName: manual
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: /data}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  storageClassName: manual
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
`

// labeller starts a third party's controller: it labels every claim that is Bound.
func labeller(ctx context.Context, cluster *storagesim.Cluster) (stop func()) {
	factory := informers.NewSharedInformerFactory(cluster.Client(), 0)
	claims := factory.Core().V1().PersistentVolumeClaims()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())
	_, _ = claims.Informer().AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(obj any, _ bool) { key, _ := cache.ObjectToName(obj); queue.Add(key) },
		UpdateFunc: func(_, obj any) { key, _ := cache.ObjectToName(obj); queue.Add(key) },
	})
	factory.Start(ctx.Done())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			key, quit := queue.Get()
			if quit {
				return
			}
			claim, err := claims.Lister().PersistentVolumeClaims(key.Namespace).Get(key.Name)
			if err == nil && claim.Status.Phase == v1.ClaimBound && claim.Labels["seen"] == "" {
				claim = claim.DeepCopy()
				metav1.SetMetaDataLabel(&claim.ObjectMeta, "seen", "yes")
				if _, err := cluster.Client().CoreV1().PersistentVolumeClaims(key.Namespace).Update(ctx, claim, metav1.UpdateOptions{}); err != nil {
					queue.AddRateLimited(key)
				}
			}
			queue.Done(key)
		}
	}()
	return func() {
		queue.ShutDown()
		<-done
		factory.Shutdown()
	}
}

// waitForLabel waits until the claim is labelled.
func waitForLabel(t *testing.T, cluster *storagesim.Cluster) {
	t.Helper()
	w, err := cluster.Client().CoreV1().PersistentVolumeClaims("default").Watch(t.Context(), metav1.ListOptions{LabelSelector: "seen"})
	require.NoError(t, err)
	defer w.Stop()
	<-w.ResultChan()
}

func beside(t *testing.T, f func(cluster *storagesim.Cluster, driver *live.Driver)) {
	t.Helper()
	cluster, err := storagesim.New(storagesim.Config{Start: time.Now()})
	require.NoError(t, err)
	defer func() { require.NoError(t, cluster.Close()) }()
	driver := live.Start(cluster.Engine())
	ctx, cancel := context.WithCancel(t.Context())
	stop := labeller(ctx, cluster)
	f(cluster, driver)
	cancel()
	stop()
	require.NoError(t, driver.Stop())
	require.NoError(t, driver.Stop(), "twice is no harm")
}

func TestAControllerOfGoroutinesRunsBesideOursInRealTime(t *testing.T) {
	beside(t, func(cluster *storagesim.Cluster, driver *live.Driver) {
		var err error
		require.True(t, driver.Do(func() { err = cluster.Apply(claimAndVolume) }))
		require.NoError(t, err)
		waitForLabel(t, cluster)
	})
}

// In a bubble time jumps: the PV controller's resync after 15 s and the labeller's
// own hours cost nothing.
func TestAControllerOfGoroutinesRunsBesideOursInABubble(t *testing.T) {
	live.Bubble(t, func(t *testing.T) {
		began := time.Now()
		beside(t, func(cluster *storagesim.Cluster, driver *live.Driver) {
			time.Sleep(6 * time.Hour)
			var err error
			require.True(t, driver.Do(func() { err = cluster.Apply(claimAndVolume) }))
			require.NoError(t, err)
			waitForLabel(t, cluster)
			require.True(t, driver.Do(func() {
				assert.WithinDuration(t, began.Add(6*time.Hour), cluster.Now(), time.Second, "the engine's clock goes as the machine's does")
			}))
		})
	})
}

// driven drives an empty cluster at a speed, inside a bubble.
func driven(t *testing.T, speed float64, f func(cluster *storagesim.Cluster, driver *live.Driver)) {
	t.Helper()
	live.Bubble(t, func(t *testing.T) {
		cluster, err := storagesim.New(storagesim.Config{Start: time.Now(), Disks: storagesim.MemoryDisks})
		require.NoError(t, err)
		driver := live.StartAt(cluster.Engine(), speed)
		f(cluster, driver)
		require.NoError(t, driver.Stop())
		<-driver.Done()
		require.NoError(t, cluster.Close())
	})
}

func TestVirtualTimeGoesAsManyTimesFasterAsItIsTold(t *testing.T) {
	driven(t, 60, func(cluster *storagesim.Cluster, driver *live.Driver) {
		began := time.Now()
		time.Sleep(time.Minute)
		require.True(t, driver.Do(func() {
			assert.WithinDuration(t, began.Add(time.Hour), cluster.Now(), time.Minute)
			require.NoError(t, cluster.RunFor(24*time.Hour))
		}))
		time.Sleep(time.Minute)
		require.True(t, driver.Do(func() {
			assert.WithinDuration(t, began.Add(26*time.Hour), cluster.Now(), time.Minute, "time goes on after a day that passed at once")
		}))
	})
}

func TestAtSpeedZeroNothingHappensUntilItIsTold(t *testing.T) {
	driven(t, 0, func(cluster *storagesim.Cluster, driver *live.Driver) {
		began, steps := time.Now(), cluster.Engine().Steps()
		require.True(t, driver.Do(func() { require.NoError(t, cluster.Apply(claimAndVolume)) }))
		time.Sleep(time.Hour)
		require.True(t, driver.Do(func() {
			assert.True(t, began.Equal(cluster.Now()))
			assert.Equal(t, steps, cluster.Engine().Steps())
			require.NoError(t, cluster.Settle())
			claim, err := cluster.Claim("data")
			require.NoError(t, err)
			assert.Equal(t, v1.ClaimBound, claim.Status.Phase)
		}))
	})
}

func TestStopTellsOfTheEnginesFailure(t *testing.T) {
	e := engine.New(engine.Config{})
	e.Close()
	assert.ErrorIs(t, live.Start(e).Stop(), engine.ErrClosed)
}

// What a failing bubble does is seen from outside: the test binary runs itself.
func TestABubbleFailsOverGoroutinesThatNobodyAnnounced(t *testing.T) {
	for _, test := range []struct{ name, inside, want string }{
		{"unannounced", "TestInsideUnannounced", "a goroutine is left behind:\n"},
		{"failing", "TestInsideFailing", "this fails inside"},
		{"failing between two steps", "TestInsideFailingInDo", "this fails between two steps"},
		{"panicking", "TestInsidePanicking", "panic: a panic of its own"},
		{"stuck", "TestInsideStuck", "deadlock: all goroutines in bubble are blocked"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run", "^"+test.inside+"$", "-test.v")
			cmd.Env = append(os.Environ(), "INSIDE=1")
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit)
			assert.Contains(t, string(out), test.want)
		})
	}
}

func TestABubbleEndsCleanlyOverThoseAnnounced(t *testing.T) {
	live.Bubble(t, leaveOneBehind, "live_test.leaveOneBehind")
}

func leaveOneBehind(*testing.T) {
	go func() { select {} }()
}

// inside runs f only in the process that the test above starts.
func inside(f func()) {
	if os.Getenv("INSIDE") != "" {
		f()
	}
}

func TestInsideUnannounced(t *testing.T) {
	inside(func() { live.Bubble(t, leaveOneBehind, "somebody.else") })
}

func TestInsideFailing(t *testing.T) {
	inside(func() {
		live.Bubble(t, func(t *testing.T) {
			leaveOneBehind(t)
			t.Error("this fails inside")
		}, "live_test.leaveOneBehind")
	})
}

func TestInsideFailingInDo(t *testing.T) {
	inside(func() {
		live.Bubble(t, func(t *testing.T) {
			c := storagesimtest.New(t, storagesim.Config{Start: time.Now()})
			c.AddProgram(storagesim.Program{Name: "op", Run: func(ctx context.Context, _ *rest.Config) error {
				for ctx.Err() == nil {
					time.Sleep(time.Second)
				}
				return nil
			}})
			d := live.Start(c.Engine())
			time.Sleep(time.Second)
			d.Do(func() { require.Fail(t, "this fails between two steps") })
		}, live.ClientGo()...)
	})
}

func TestInsidePanicking(t *testing.T) {
	inside(func() { live.Bubble(t, func(*testing.T) { panic(errors.New("a panic of its own")) }) })
}

func TestInsideStuck(t *testing.T) {
	inside(func() { live.Bubble(t, func(*testing.T) { select {} }, "live_test") })
}
