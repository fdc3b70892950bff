package storagesim_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/internal/seedtest"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/provisioner/openebs"
	"github.com/storagesim/storagesim/storagesimtest"
)

// requireNoGoroutines waits for goroutines that are ending to be gone.
func requireNoGoroutines(t *testing.T, before int) {
	t.Helper()
	for range 2000 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%d goroutines before, %d after Close", before, runtime.NumGoroutine())
}

func TestAClosedClusterSaysSo(t *testing.T) {
	before := runtime.NumGoroutine()
	c, err := storagesim.New(storagesim.Config{})
	require.NoError(t, err)
	require.NoError(t, c.Apply(claimYAML))
	require.NoError(t, c.Settle())
	story := c.Story()
	require.NoError(t, c.Close())
	require.NoError(t, c.Close(), "closing twice is closing once")

	_, err = c.Engine().Step()
	require.ErrorIs(t, err, engine.ErrClosed)
	_, err = c.Machine("node/node-1").ReadFile("/etc/hostname")
	require.ErrorIs(t, err, engine.ErrClosed)
	for name, err := range map[string]error{
		"Settle": c.Settle(), "RunFor": c.RunFor(time.Hour), "RunUntil": c.RunUntil(func() bool { return true }),
		"Crash": c.Crash(storagesim.Scheduler), "RequireNoLeaks": c.RequireNoLeaks(),
		"AddProvisioner": c.AddProvisioner("example.com/nfs", &myProvisioner{}),
	} {
		require.ErrorIs(t, err, engine.ErrClosed, name)
	}
	require.Equal(t, story, c.Story())
	claim, err := c.Claim("data")
	require.NoError(t, err)
	require.Equal(t, v1.ClaimPending, claim.Status.Phase)
	_, err = c.Explain("pvc/data")
	require.NoError(t, err)
	requireNoGoroutines(t, before)
}

func TestClosingAtAnyMomentLeavesNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	for i := range 20 {
		c, err := storagesim.New(storagesim.Config{Seed: uint64(i)})
		require.NoError(t, err)
		require.NoError(t, c.AddProvisionController(openebs.Controller(openebs.Config{})))
		require.NoError(t, c.Apply(clustertest.MainStory...))
		for range i * 15 {
			_, err := c.Engine().Step()
			require.NoError(t, err)
		}
		require.NoError(t, c.Crash(storagesim.PVController))
		require.NoError(t, c.Close())
	}
	requireNoGoroutines(t, before)
}

// wholeLife runs the main story from claim to nothing, with a crash.
func wholeLife(t testing.TB, cfg storagesim.Config) *storagesimtest.Cluster {
	t.Helper()
	cfg.Nodes = storagesim.Nodes("node1", "node2")
	c := storagesimtest.New(t, cfg)
	c.AddProvisionController(openebs.Controller(openebs.Config{}))
	c.Inject(engine.Fault{Verb: "create", Resource: "pv", After: true, Crash: true, Restart: time.Second})
	c.Apply(clustertest.MainStory...)
	c.Settle()
	c.Delete("pod/hello-local-hostpath-pod", "pvc/local-hostpath-pvc")
	c.RunFor(time.Hour)
	c.RequireNoLeaks()
	return c
}

func TestAWholeRunIsReplayedFromItsChoicesToTheByte(t *testing.T) {
	seedtest.Each(t, 8, func(t testing.TB, seed uint64) {
		recorded := wholeLife(t, storagesim.Config{Seed: seed})
		choices := recorded.Engine().Choices()
		again := wholeLife(t, storagesim.Config{Seed: seed, Policy: engine.Replay(choices)})
		require.Equal(t, recorded.Engine().Trace().String(), again.Engine().Trace().String())
		require.Equal(t, choices, again.Engine().Choices())
		wholeLife(t, storagesim.Config{Seed: seed, Policy: engine.Replay(choices[:len(choices)/2])}) // the rest in order
	})
}

func TestClustersRunBesideEachOther(t *testing.T) {
	alone := wholeLife(t, storagesim.Config{Seed: 5}).Story()
	for i := range 6 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			require.Equal(t, alone, wholeLife(t, storagesim.Config{Seed: 5}).Story())
		})
	}
}

// A controller of a user, with client-go's informers in goroutines of its own,
// reads and writes while the engine runs.
func TestInformersInGoroutinesFollowARunningCluster(t *testing.T) {
	before := runtime.NumGoroutine()
	c, err := storagesim.New(storagesim.Config{Nodes: storagesim.Nodes("node1", "node2")})
	require.NoError(t, err)
	require.NoError(t, c.AddProvisionController(openebs.Controller(openebs.Config{})))
	factory := informers.NewSharedInformerFactory(c.Client(), 0)
	volumes, claims := factory.Core().V1().PersistentVolumes().Informer(), factory.Core().V1().PersistentVolumeClaims().Informer()
	var mu sync.Mutex
	seen := map[string]int{}
	count := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		seen[what]++
	}
	_, err = volumes.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { count("add") }, DeleteFunc: func(any) { count("delete") },
	})
	require.NoError(t, err)
	_, err = claims.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, obj any) {
		claim := obj.(*v1.PersistentVolumeClaim).DeepCopy()
		claim.Labels = map[string]string{"seen": "yes"}
		_, _ = c.Client().CoreV1().PersistentVolumeClaims(claim.Namespace).Update(context.Background(), claim, metav1.UpdateOptions{}) // a conflict is fine
	}})
	require.NoError(t, err)
	stop := make(chan struct{})
	factory.Start(stop)
	factory.WaitForCacheSync(stop)

	// The goroutines write when they like, so settle until they have nothing to add.
	settleUntil := func(done func() bool) {
		t.Helper()
		for range 5000 {
			require.NoError(t, c.Settle())
			if done() {
				return
			}
			time.Sleep(time.Millisecond)
		}
		t.Fatal("the goroutines never saw it")
	}
	require.NoError(t, c.Apply(clustertest.MainStory...))
	settleUntil(func() bool {
		claim, err := c.Claim("local-hostpath-pvc")
		return err == nil && claim.Status.Phase == v1.ClaimBound && claim.Labels["seen"] == "yes" && len(volumes.GetStore().List()) == 1
	})
	require.NoError(t, c.Delete("pod/hello-local-hostpath-pod", "pvc/local-hostpath-pvc"))
	settleUntil(func() bool { return len(volumes.GetStore().List()) == 0 && len(claims.GetStore().List()) == 0 })
	close(stop)
	factory.Shutdown()
	require.Equal(t, map[string]int{"add": 1, "delete": 1}, seen)
	require.NoError(t, c.RequireNoLeaks())
	require.NoError(t, c.Close())
	requireNoGoroutines(t, before)
}

// Between any two steps: while an actor sleeps, polls, has half of its caches, or waits for the
// answer to a call that was carried out.
func TestTheMainStorySurvivesACrashAfterAnyStep(t *testing.T) {
	running := func(c *storagesim.Cluster) bool {
		pod, err := c.Pod("hello-local-hostpath-pod")
		return err == nil && pod.Status.Phase == v1.PodRunning
	}
	play := func(crashAfter int) (steps int) {
		c, err := storagesim.New(storagesim.Config{})
		require.NoError(t, err)
		defer c.Close()
		require.NoError(t, c.AddProvisionController(openebs.Controller(openebs.Config{})))
		require.NoError(t, c.Settle())
		require.NoError(t, c.Apply(clustertest.MainStory...))
		for ; !running(c) && steps != crashAfter; steps++ {
			_, err := c.Engine().Step()
			require.NoError(t, err)
		}
		if crashAfter >= 0 {
			require.NoError(t, c.Crash(c.Engine().Actors()[crashAfter%len(c.Engine().Actors())]))
		}
		require.NoError(t, c.RunUntil(func() bool { return running(c) }), "crash after step %d:\n%s", crashAfter, c.Story())
		require.NoError(t, c.Delete("pod/hello-local-hostpath-pod", "pvc/local-hostpath-pvc"))
		require.NoError(t, c.RunFor(10*time.Minute))
		require.NoError(t, c.RequireNoLeaks(), "crash after step %d:\n%s", crashAfter, c.Story())
		return steps
	}
	steps := play(-1)
	require.Greater(t, steps, 100)
	for n := 0; n < steps; n += 4 { // another actor each time
		play(n)
	}
}

// Days take more steps than the limit, but no minute of them does.
func TestDaysPassAndNothingHappens(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{StepLimit: 5000})
	c.AddProvisionController(openebs.Controller(openebs.Config{}))
	c.Apply(clustertest.MainStory...)
	c.Settle()
	story := c.Story()
	c.RunFor(2 * 24 * time.Hour)
	require.Equal(t, story, c.Story(), "what is periodic finds everything as it should be")
}

func TestInterruptEndsARun(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	n := 0
	err := c.Cluster.RunUntil(func() bool {
		if n++; n == 100 {
			c.Engine().Interrupt()
		}
		return false
	})
	require.ErrorIs(t, err, engine.ErrInterrupted)
	require.ErrorIs(t, c.Cluster.Settle(), engine.ErrInterrupted)
}

func TestResourcesInFaultsHaveAnyNameThatKubectlKnows(t *testing.T) {
	for _, name := range []string{"pv", "PersistentVolume", "persistentvolumes"} {
		c := storagesimtest.New(t, storagesim.Config{})
		c.AddProvisioner("example.com/nfs", &myProvisioner{})
		c.Inject(engine.Fault{Verb: "create", Resource: name, Crash: true})
		c.Hold(storagesim.PVController, name)
		c.Apply(manifests)
		c.Settle()
		require.Contains(t, c.Story(), "example.com/nfs           crashes before: create persistentvolumes", name)
		require.Equal(t, v1.ClaimPending, c.Claim("data").Status.Phase, "the PV controller does not know of the volume")
		c.Release(storagesim.PVController, name)
		c.Settle()
		require.Equal(t, v1.ClaimBound, c.Claim("data").Status.Phase)
	}
	c := storagesimtest.New(t, storagesim.Config{})
	c.Inject(engine.Fault{Verb: "create", Resource: "pods/binding", Times: -1, After: true})
	require.EqualError(t, c.Cluster.Inject(engine.Fault{Resource: "pvs", Crash: true}),
		`fault: the server doesn't have a resource type "pvs" (did you mean "pv"?)`)
	require.ErrorContains(t, c.Cluster.Hold(storagesim.Scheduler, "pvs"), `doesn't have a resource type "pvs"`)
	require.ErrorContains(t, c.Cluster.Hold(storagesim.PVProtection, "nodes"), `has no cache of "nodes"; it has caches of [`)
}

func TestAPodOnANodeThatNobodyRunsIsExplained(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {nodeName: %s, containers: [{name: a, image: b}]}\n"
	c.Apply("apiVersion: v1\nkind: Node\nmetadata: {name: ghost}\n", fmt.Sprintf(pod, "one", "ghost"), fmt.Sprintf(pod, "two", "nowhere"))
	c.Settle()
	require.Contains(t, c.Explain("pod/one"), "no kubelet runs on node ghost, so its containers are never started")
	require.Contains(t, c.Explain("pod/two"), "there is no node nowhere, so its containers are never started")
}

// fakeTest is a test that may fail without failing this one.
type fakeTest struct {
	testing.TB
	logs     []string
	cleanups []func()
	failed   bool
}

func (f *fakeTest) Helper() {}

func (f *fakeTest) Name() string { return "fake" }

func (f *fakeTest) Failed() bool { return f.failed }

func (f *fakeTest) Cleanup(cleanup func()) { f.cleanups = append(f.cleanups, cleanup) }

func (f *fakeTest) Logf(format string, args ...any) {
	f.logs = append(f.logs, fmt.Sprintf(format, args...))
}

func (f *fakeTest) FailNow() { f.failed = true; runtime.Goexit() }

func (f *fakeTest) Fatalf(format string, args ...any) {
	f.Logf(format, args...)
	f.FailNow()
}

func (f *fakeTest) Fatal(args ...any) { f.Fatalf("%s", fmt.Sprint(args...)) }

func (f *fakeTest) Errorf(format string, args ...any) {
	f.Logf(format, args...)
	f.failed = true
}

// play runs a test and its cleanups, and returns what it logged.
func (f *fakeTest) play(test func(testing.TB)) string {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for i := range f.cleanups {
				f.cleanups[len(f.cleanups)-1-i]()
			}
		}()
		test(f)
	}()
	<-done
	return strings.Join(f.logs, "\n")
}

// asserting is a provisioner that makes assertions of its own.
type asserting struct {
	myProvisioner
	t testing.TB
}

func (p *asserting) Provision(context.Context, provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	require.FailNow(p.t, "not like this")
	return nil, "", nil
}

func TestAFailedTestPrintsSeedAndStory(t *testing.T) {
	before := runtime.NumGoroutine()
	for name, test := range map[string]func(testing.TB){
		"persistentvolumes \"none\" not found\n": func(t testing.TB) {
			c := storagesimtest.New(t, storagesim.Config{Seed: 42})
			c.Apply(claimYAML)
			c.Settle()
			c.Volume("none")
		},
		"not like this": func(t testing.TB) { // in the middle of a step
			c := storagesimtest.New(t, storagesim.Config{Seed: 42})
			c.AddProvisioner("example.com/nfs", &asserting{t: t})
			c.Apply(manifests)
			c.Settle()
		},
	} {
		f := &fakeTest{}
		logged := f.play(func(t testing.TB) {
			test(t)
			panic("the test goes on after its failure")
		})
		require.True(t, f.failed)
		require.Contains(t, logged, name)
		require.Contains(t, logged, "storagesim: seed 42; the story so far:\n  0:00:00  user\n    creates ")
		require.Contains(t, logged, "creates pvc default/data\n")
	}
	f := &fakeTest{}
	require.Empty(t, f.play(func(t testing.TB) { storagesimtest.New(t, storagesim.Config{Seed: 42}).Settle() }))
	require.False(t, f.failed, "a test that passes says nothing")
	require.Contains(t, (&fakeTest{}).play(func(t testing.TB) { storagesimtest.New(t, storagesim.Config{StepLimit: -1}) }),
		"storagesim.New: Config.StepLimit: -1 is negative; it must be positive, or 0 for the default")
	requireNoGoroutines(t, before)
}
