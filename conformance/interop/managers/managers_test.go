package managers

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/conformance/internal/managers"
	"github.com/storagesim/storagesim/conformance/internal/upstream"
	"github.com/storagesim/storagesim/live/serve"
)

var update = flag.Bool("update", false, "write what upstream's programs do into conformance/internal/managers/testdata")

// testdata holds what they did.
const testdata = "../../internal/managers/testdata"

// world is a cluster that is served over HTTPS, with upstream's programs in place of our controllers and scheduler.
type world struct {
	testing.TB
	cluster  *storagesim.Cluster
	server   *serve.Server
	observer *managers.Observer
	said     map[string]*upstream.Output
}

// start makes the world of a scenario. It ends with the test.
func start(t testing.TB, s managers.Scenario) *world {
	t.Helper()
	cluster, observer, err := s.Cluster(storagesim.Config{Only: []string{}, Start: time.Now().UTC().Truncate(time.Second)})
	require.NoError(t, err)
	w := &world{TB: t, cluster: cluster, observer: observer}
	w.server, err = serve.Start(cluster, serve.Config{Kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"), Speed: 1})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, w.server.Close())
		require.NoError(t, cluster.Close())
	})
	w.said = launch(t, w.server.Kubeconfig())
	w.ready()
	return w
}

// probe has an object for each controller that may still read its caches when others are at work.
const probe = `
apiVersion: v1
kind: Namespace
metadata: {name: ` + managers.Aside + `}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: probe, namespace: ` + managers.Aside + `}
spec:
  selector: {matchLabels: {app: probe}}
  template: {metadata: {labels: {app: probe}}, spec: ` + pod + `}
---
apiVersion: v1
kind: ReplicationController
metadata: {name: probe, namespace: ` + managers.Aside + `}
spec:
  selector: {app: rc}
  template: {metadata: {labels: {app: rc}}, spec: ` + pod + `}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: probe, namespace: ` + managers.Aside + `}
spec:
  selector: {matchLabels: {app: set}}
  template: {metadata: {labels: {app: set}}, spec: ` + pod + `}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: probe, namespace: ` + managers.Aside + `}
spec:
  selector: {matchLabels: {app: daemon}}
  template: {metadata: {labels: {app: daemon}}, spec: ` + pod + `}
---
apiVersion: batch/v1
kind: Job
metadata: {name: probe, namespace: ` + managers.Aside + `}
spec: {template: {spec: {restartPolicy: Never, terminationGracePeriodSeconds: 0, containers: [{name: c, image: "probe:1", command: [sleep, infinity]}]}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: probe, namespace: ` + managers.Aside + `}
spec: {minAvailable: 0, selector: {matchLabels: {app: probe}}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: probe, namespace: ` + managers.Aside + `}
spec: {hard: {pods: "100"}}
`

const pod = `{tolerations: [{operator: Exists}], terminationGracePeriodSeconds: 0, containers: [{name: c, image: "probe:1", command: [sleep, infinity]}]}`

// ready waits until upstream's programs do their work: what is in the probe has come about, and is collected when its owners are gone.
func (w *world) ready() {
	w.Helper()
	ctx, client := context.Background(), w.cluster.Client()
	running := func(n int) func() bool {
		return func() bool {
			list, err := client.CoreV1().Pods(managers.Aside).List(ctx, metav1.ListOptions{})
			require.NoError(w, err)
			return len(list.Items) == n && !slices.ContainsFunc(list.Items, func(p v1.Pod) bool { return p.Status.Phase != v1.PodRunning })
		}
	}
	w.do(func() { require.NoError(w, w.cluster.Apply(probe)) })
	w.until("a pod of each controller runs", running(4+len(w.nodes())))
	w.until("the budget is counted", func() bool {
		budget, err := client.PolicyV1().PodDisruptionBudgets(managers.Aside).Get(ctx, "probe", metav1.GetOptions{})
		require.NoError(w, err)
		return budget.Status.CurrentHealthy == 1
	})
	w.until("the quota is counted", func() bool {
		quota, err := client.CoreV1().ResourceQuotas(managers.Aside).Get(ctx, "probe", metav1.GetOptions{})
		require.NoError(w, err)
		return len(quota.Status.Used) > 0
	})
	w.do(func() {
		for _, kind := range []string{"deployment", "replicationcontroller", "statefulset", "daemonset", "job", "pdb", "quota"} {
			require.NoError(w, w.cluster.Delete(kind+"/"+managers.Aside+"/probe"))
		}
	})
	w.until("the probe's pods are gone", running(0))
	w.settle(0)
}

func (w *world) nodes() []v1.Node {
	list, err := w.cluster.Client().CoreV1().Nodes().List(context.Background(), metav1.ListOptions{})
	require.NoError(w, err)
	return list.Items
}

// settle lets upstream's programs do what there is to do, and at least so much time pass.
func (w *world) settle(least time.Duration) {
	w.Helper()
	began := time.Now()
	w.until("rest", func() bool { return time.Since(began) > least+managers.Rest && w.observer.Quiet() > managers.Rest })
}

// until waits for something, in the end in vain.
func (w *world) until(what string, is func() bool) {
	w.Helper()
	for end := time.Now().Add(4 * time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().Before(end) {
			continue
		}
		for name, said := range w.said {
			w.Logf("%s said:\n%s", name, said.Last())
		}
		w.do(func() { w.Logf("the story:\n%s", w.cluster.Story()) })
		w.Fatalf("in four minutes this has not come about: %s", what)
	}
}

// do calls f between two steps of the cluster.
func (w *world) do(f func()) {
	w.Helper()
	require.True(w, w.server.Do(f))
}

func TestUpstreamsProgramsDoWhatTheyDid(t *testing.T) {
	for _, s := range managers.Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			w := start(t, s)
			seen, err := s.Play(w.observer, w.do, w.settle)
			require.NoError(t, err)
			file := filepath.Join(testdata, s.Name+".txt")
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(seen.String()), 0o644))
				return
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			before, err := managers.Parse(string(text))
			require.NoError(t, err)
			for _, line := range managers.Compare(before, seen) {
				if !managers.IsChance(s.Name, line) {
					t.Error(line)
				}
			}
		})
	}
}
