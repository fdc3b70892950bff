package remote_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	restclient "k8s.io/client-go/rest"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/live"
	"github.com/storagesim/storagesim/live/remote"
	"github.com/storagesim/storagesim/trace"
)

const delayed = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: manual}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv-1}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: manual
  local: {path: /data/disk}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [node-2]}]}]}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: manual, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: c, image: busybox, command: [sleep, "1000"], volumeMounts: [{name: d, mountPath: /d}]}]
  volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]
`

// withoutControlPlane runs f in a bubble, with a cluster of kubelets and an API server alone,
// which package remote treats as a foreign one.
func withoutControlPlane(t *testing.T, f func(t *testing.T, c *storagesim.Cluster)) {
	t.Helper()
	live.Bubble(t, func(t *testing.T) {
		c, err := storagesim.New(storagesim.Config{
			Only: []string{}, Start: time.Now(), Disks: storagesim.MemoryDisks, Nodes: storagesim.Nodes("node-1", "node-2"),
		})
		require.NoError(t, err)
		require.NoError(t, c.Machine("node/node-2").MakeDir("/data/disk", 0o777))
		driver := live.Start(c.Engine())
		f(t, c)
		require.NoError(t, driver.Stop())
		require.NoError(t, c.Close())
	}, live.ClientGo()...)
}

// running is a Run under way.
type running struct {
	end  context.CancelFunc
	done chan error

	mu       sync.Mutex
	story    strings.Builder
	warnings []string
}

// start starts the controllers of those names.
func start(t *testing.T, c *storagesim.Cluster, names ...string) *running {
	t.Helper()
	actors, err := storagesim.ControlPlane(storagesim.Config{Only: names})
	require.NoError(t, err)
	return startActors(t, remote.Config{REST: c.RESTConfig("control"), Actors: actors})
}

func startActors(t *testing.T, cfg remote.Config) *running {
	ctx, end := context.WithCancel(t.Context())
	r := &running{end: end, done: make(chan error, 1)}
	cfg.Tell = func(e trace.Entry) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.story.WriteString(e.Actor + " " + e.Record.String() + "\n")
	}
	cfg.Warn = func(err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.warnings = append(r.warnings, err.Error())
	}
	go func() { r.done <- remote.Run(ctx, cfg) }()
	return r
}

// stop ends it and gives its error.
func (r *running) stop() error {
	r.end()
	return <-r.done
}

func (r *running) told() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.story.String()
}

func (r *running) warned() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.warnings, "\n")
}

func TestOurControllersBindAndScheduleOnSomebodyElsesServer(t *testing.T) {
	withoutControlPlane(t, func(t *testing.T, c *storagesim.Cluster) {
		require.NoError(t, c.Apply(delayed))
		r := start(t, c, storagesim.PVController, storagesim.Scheduler)
		time.Sleep(30 * time.Second)
		pod, err := c.Pod("web")
		require.NoError(t, err)
		assert.Equal(t, v1.PodRunning, pod.Status.Phase)
		claim, err := c.Claim("data")
		require.NoError(t, err)
		assert.Equal(t, v1.ClaimBound, claim.Status.Phase)
		assert.Equal(t, "pv-1", claim.Spec.VolumeName)
		for _, line := range []string{
			"persistent-volume-binder updates pv pv-1 status: phase = Available",
			"kube-scheduler updates pv pv-1: metadata.annotations[pv.kubernetes.io/bound-by-controller] = yes, spec.claimRef = pvc default/data",
			"persistent-volume-binder updates pvc default/data status: accessModes = [ReadWriteOnce], capacity = 1Gi, phase = Bound",
			"kube-scheduler binds pod default/web to node node-2",
			"kube-scheduler says of pod default/web: Normal Scheduled: Successfully assigned default/web to node-2",
		} {
			assert.Contains(t, r.told(), line+"\n")
		}
		events, err := c.Client().CoreV1().Events("default").List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=web,source=default-scheduler"})
		require.NoError(t, err)
		require.NotEmpty(t, events.Items)
		assert.Equal(t, "Scheduled", events.Items[len(events.Items)-1].Reason)
		assert.NoError(t, r.stop())
		assert.Empty(t, r.warned())
	})
}

// The scheduler has the patch of a pod's status as Go values, which go to another server as JSON.
func TestTheConditionOfAPodThatFitsNowhereReachesSomebodyElsesServer(t *testing.T) {
	withoutControlPlane(t, func(t *testing.T, c *storagesim.Cluster) {
		require.NoError(t, c.Apply(`
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  nodeSelector: {disk: ssd}
  containers: [{name: c, image: busybox, command: [sleep, "1000"]}]
`))
		r := start(t, c, storagesim.Scheduler)
		time.Sleep(time.Minute)
		pod, err := c.Client().CoreV1().Pods("default").Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err)
		require.Len(t, pod.Status.Conditions, 1, r.told())
		require.Equal(t, v1.PodReasonUnschedulable, pod.Status.Conditions[0].Reason)
		require.Contains(t, pod.Status.Conditions[0].Message, "didn't match Pod's node affinity/selector")
		require.NoError(t, r.stop())
	})
}

func TestTheLeaseLetsOneControlAtATimeGoOnAndIsReleasedAtTheEnd(t *testing.T) {
	withoutControlPlane(t, func(t *testing.T, c *storagesim.Cluster) {
		first := start(t, c, storagesim.PVController)
		time.Sleep(time.Second)
		second := start(t, c, storagesim.PVController)
		time.Sleep(time.Minute)
		assert.Contains(t, second.warned(), "holds the lease kube-system/storagesim-control: waiting for it")
		require.NoError(t, c.Apply(delayed))
		time.Sleep(10 * time.Second)
		assert.NotEmpty(t, first.told())
		assert.Empty(t, second.told())

		require.NoError(t, first.stop())
		before := time.Now()
		require.NoError(t, c.Apply(strings.ReplaceAll(delayed, "pv-1", "pv-2")))
		require.Eventually(t, func() bool { return strings.Contains(second.told(), "pv pv-2 status: phase = Available") }, time.Minute, time.Second)
		assert.Less(t, time.Since(before), 10*time.Second, "a lease that is not released lasts 15 s")
		assert.NoError(t, second.stop())
	})
}

func TestALeaseThatIsTakenAwayEndsTheWork(t *testing.T) {
	withoutControlPlane(t, func(t *testing.T, c *storagesim.Cluster) {
		r := start(t, c, storagesim.PVController)
		time.Sleep(time.Second)
		leases := c.Client().CoordinationV1().Leases("kube-system")
		lease, err := leases.Get(t.Context(), "storagesim-control", metav1.GetOptions{})
		require.NoError(t, err)
		lease.Spec.HolderIdentity = new("somebody else")
		_, err = leases.Update(t.Context(), lease, metav1.UpdateOptions{})
		require.NoError(t, err)
		assert.EqualError(t, <-r.done, "the lease kube-system/storagesim-control is lost")
	})
}

func TestAPanicEndsAllActorsAndNamesTheOne(t *testing.T) {
	withoutControlPlane(t, func(t *testing.T, c *storagesim.Cluster) {
		good := control.Actor{Name: "good", Factory: func(env control.Env) error {
			env.Every("nothing", time.Second, func(context.Context) {})
			return nil
		}}
		bad := control.Actor{Name: "bad", Factory: func(env control.Env) error {
			env.Go("explode", func(ctx context.Context) {
				_ = env.Sleep(ctx, time.Second)
				panic("oh")
			})
			return nil
		}}
		r := startActors(t, remote.Config{REST: c.RESTConfig("x"), Actors: []control.Actor{good, bad}, NoLease: true})
		assert.ErrorContains(t, <-r.done, "bad: panic in explode: oh\n")
		for _, factory := range []control.Factory{
			func(control.Env) error { return errors.New("no") }, func(control.Env) error { panic("no") },
		} {
			r = startActors(t, remote.Config{REST: c.RESTConfig("x"), Actors: []control.Actor{good, {Name: "bad", Factory: factory}}, NoLease: true})
			err := <-r.done
			assert.ErrorContains(t, err, "actor bad: ")
			assert.ErrorContains(t, err, "no")
		}
	})
}

// TestAtMostOnePieceOfAnActorsCodeRunsAtATime counts who is inside while workers write, sleep
// and poll.
func TestAtMostOnePieceOfAnActorsCodeRunsAtATime(t *testing.T) {
	withoutControlPlane(t, func(t *testing.T, c *storagesim.Cluster) {
		inside, most, done := 0, 0, 0
		enter := func() { inside++; most = max(most, inside); synctestYield(); inside-- }
		actor := control.Actor{Name: "counter", Factory: func(env control.Env) error {
			cache := control.NewCache[*v1.ConfigMap](env, v1.SchemeGroupVersion.WithResource("configmaps"))
			queue := env.Queue(control.QueueConfig{Name: "maps", Workers: 8, Reconcile: func(ctx context.Context, key string) error {
				enter()
				_, name := control.SplitKey(key)
				_, err := env.Client().CoreV1().ConfigMaps("default").Get(ctx, name, metav1.GetOptions{})
				enter()
				if err := env.Sleep(ctx, time.Millisecond); err != nil {
					return err
				}
				enter()
				done++
				return err
			}})
			cache.Handle(control.Handler[*v1.ConfigMap]{Add: func(obj *v1.ConfigMap) { enter(); queue.Add(control.Key(obj)) }})
			return nil
		}}
		r := startActors(t, remote.Config{REST: c.RESTConfig("x"), Actors: []control.Actor{actor}, NoLease: true})
		for _, name := range strings.Split("a b c d e f g h i j k l m n o p", " ") {
			_, err := c.Client().CoreV1().ConfigMaps("default").Create(t.Context(), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
			require.NoError(t, err)
		}
		time.Sleep(time.Minute)
		require.NoError(t, r.stop())
		assert.GreaterOrEqual(t, done, 16)
		assert.Equal(t, 1, most)
	})
}

// synctestYield lets all other goroutines of the bubble run.
func synctestYield() {
	for range 10 {
		time.Sleep(time.Nanosecond)
	}
}

func TestAQueueTriesAgainWithBackoffAndGivesUpAfterItsRetries(t *testing.T) {
	withoutControlPlane(t, func(t *testing.T, c *storagesim.Cluster) {
		var at []time.Duration
		begin := time.Now()
		actor := control.Actor{Name: "stubborn", Factory: func(env control.Env) error {
			queue := env.Queue(control.QueueConfig{
				Name: "keys", MaxRetries: 3, Limiter: control.RateLimiter{Base: time.Second, Max: 3 * time.Second},
				Reconcile: func(context.Context, string) error {
					at = append(at, time.Since(begin))
					return errors.New("not today")
				},
			})
			queue.Add("key")
			return nil
		}}
		r := startActors(t, remote.Config{REST: c.RESTConfig("x"), Actors: []control.Actor{actor}, NoLease: true})
		time.Sleep(time.Hour)
		require.NoError(t, r.stop())
		assert.Equal(t, []time.Duration{0, time.Second, 3 * time.Second, 6 * time.Second}, at)
		assert.Contains(t, r.told(), "stubborn gives up keys key after 4 failures: not today\n")
	})
}

func TestAKindThatTheServerDoesNotHaveIsWarnedOfOnce(t *testing.T) {
	withoutControlPlane(t, func(t *testing.T, c *storagesim.Cluster) {
		actor := control.Actor{Name: "curious", Factory: func(env control.Env) error {
			control.NewCache[*v1.ConfigMap](env, schema.GroupVersionResource{Version: "v1", Resource: "gadgets"})
			env.Go("never", func(context.Context) { panic("started without its list") })
			return nil
		}}
		r := startActors(t, remote.Config{REST: c.RESTConfig("x"), Actors: []control.Actor{actor}, NoLease: true})
		time.Sleep(4 * time.Minute)
		require.NoError(t, r.stop())
		assert.Contains(t, r.warned(), "could not find the requested resource")
		assert.Less(t, strings.Count(r.warned(), "\n"), 3)
	})
}

func TestAConfigThatCannotWorkIsRefusedInWords(t *testing.T) {
	some := control.Actor{Name: "a", Factory: func(control.Env) error { return nil }}
	host := &restclient.Config{Host: "http://127.0.0.1:1"}
	for want, cfg := range map[string]remote.Config{
		"remote.Config.REST: required":                                        {},
		"remote.Config.Actors: at least one is required":                      {REST: host},
		"remote.Config.Actors[1].Name: there are two actors called \"a\"":     {REST: host, Actors: []control.Actor{some, some}},
		"remote.Config.Actors[0].Factory: required, b has none":               {REST: host, Actors: []control.Actor{{Name: "b"}}},
		"remote.Config.Actors[0].Name: required":                              {REST: host, Actors: []control.Actor{{}}},
		"cannot reach the API server at http://127.0.0.1:1: Get \"http://127": {REST: host, Actors: []control.Actor{some}},
	} {
		assert.ErrorContains(t, remote.Run(t.Context(), cfg), want)
	}
	_, err := storagesim.ControlPlane(storagesim.Config{Only: []string{"pv-bindr"}})
	assert.ErrorContains(t, err, `Config.Only[0]: no actor is called "pv-bindr"`)
}

// behind serves the cluster's API below a path.
type behind struct {
	prefix string
	next   http.RoundTripper
}

func (b behind) RoundTrip(req *http.Request) (*http.Response, error) {
	if !strings.HasPrefix(req.URL.Path, b.prefix+"/") {
		return nil, errors.New("not below " + b.prefix + ": " + req.URL.Path)
	}
	req = req.Clone(req.Context())
	req.URL.Path = strings.TrimPrefix(req.URL.Path, b.prefix)
	return b.next.RoundTrip(req)
}

func TestWritesToAServerBelowAPathAreTold(t *testing.T) {
	withoutControlPlane(t, func(t *testing.T, c *storagesim.Cluster) {
		require.NoError(t, c.Apply(delayed))
		actors, err := storagesim.ControlPlane(storagesim.Config{Only: []string{storagesim.PVController}})
		require.NoError(t, err)
		cfg := c.RESTConfig("control")
		cfg.Host += "/k8s/clusters/c-1"
		cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return behind{"/k8s/clusters/c-1", next} })
		r := startActors(t, remote.Config{REST: cfg, Actors: actors})
		time.Sleep(30 * time.Second)
		require.NoError(t, r.stop())
		assert.Contains(t, r.told(), "persistent-volume-binder updates pv pv-1 status: phase = Available\n")
	})
}

// agents notes who writes events.
type agents struct {
	seen *sync.Map
	next http.RoundTripper
}

func (a agents) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodPost && strings.HasSuffix(req.URL.Path, "/events") {
		a.seen.Store(req.UserAgent(), true)
	}
	return a.next.RoundTrip(req)
}

func TestEachActorWritesItsEventsInItsOwnName(t *testing.T) {
	withoutControlPlane(t, func(t *testing.T, c *storagesim.Cluster) {
		require.NoError(t, c.Apply(delayed))
		actors, err := storagesim.ControlPlane(storagesim.Config{Only: []string{storagesim.PVController, storagesim.Scheduler}})
		require.NoError(t, err)
		cfg := c.RESTConfig("control")
		seen := &sync.Map{}
		cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return agents{seen, next} })
		r := startActors(t, remote.Config{REST: cfg, Actors: actors})
		time.Sleep(30 * time.Second)
		require.NoError(t, r.stop())
		wrote := map[any]bool{}
		seen.Range(func(agent, _ any) bool { wrote[agent] = true; return true })
		assert.Equal(t, map[any]bool{storagesim.PVController: true, storagesim.Scheduler: true}, wrote)
	})
}

func TestAStatusThatIsWrittenIsNotToldAsAChangeOfClaimTemplates(t *testing.T) {
	withoutControlPlane(t, func(t *testing.T, c *storagesim.Cluster) {
		require.NoError(t, c.Apply(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: busybox}]}}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]
`))
		r := start(t, c, storagesim.StatefulSets)
		time.Sleep(30 * time.Second)
		require.NoError(t, r.stop())
		assert.Contains(t, r.told(), "updates statefulset default/db status")
		assert.NotContains(t, r.told(), "volumeClaimTemplates")
	})
}
