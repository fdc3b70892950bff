package operator_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/examples/operator"
	"github.com/storagesim/storagesim/live"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	ctrl.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

const scratch = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: build-cache
  labels: {storage.example.com/scratch: 1Gi}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv-1}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /data}}
`

// beside runs the operator beside a cluster, in a bubble.
func beside(t *testing.T, f func(t *testing.T, cluster *storagesim.Cluster, do func(func() error))) {
	t.Helper()
	live.Bubble(t, func(t *testing.T) {
		cluster, err := storagesim.New(storagesim.Config{Start: time.Now(), Disks: storagesim.MemoryDisks})
		require.NoError(t, err)
		defer func() { assert.NoError(t, cluster.Close()) }()
		driver := live.Start(cluster.Engine())
		do := func(f func() error) {
			var err error
			require.True(t, driver.Do(func() { err = f() }))
			require.NoError(t, err)
		}
		do(func() error {
			return cluster.AddProgram(storagesim.Program{Name: "scratch-operator", Run: operator.Run})
		})
		do(func() error { return cluster.Apply(scratch) })
		f(t, cluster, do)
		require.NoError(t, driver.Stop())
	}, live.ClientGo()...)
}

// phase returns the phase that the operator wrote into the ConfigMap.
func phase(t *testing.T, cluster *storagesim.Cluster) string {
	t.Helper()
	asks, err := cluster.Client().CoreV1().ConfigMaps("default").Get(t.Context(), "build-cache", metav1.GetOptions{})
	require.NoError(t, err)
	return asks.Annotations[operator.AnnPhase]
}

func TestTheOperatorMakesAClaimAndSaysWhenItIsBound(t *testing.T) {
	beside(t, func(t *testing.T, cluster *storagesim.Cluster, _ func(func() error)) {
		time.Sleep(5 * time.Second)
		assert.Equal(t, "Bound", phase(t, cluster), "%s", cluster.Story())
		claim, err := cluster.Claim("build-cache")
		require.NoError(t, err)
		assert.Equal(t, v1.ClaimBound, claim.Status.Phase)
		var kinds []v1.PersistentVolumeClaimConditionType // the control plane writes Unused
		for _, condition := range claim.Status.Conditions {
			kinds = append(kinds, condition.Type)
		}
		assert.Contains(t, kinds, operator.ConditionReady)
		// It says Bound when its cache has the claim with the condition: after the write of the status.
		_, after, written := strings.Cut(cluster.Story(), "updates pvc default/build-cache status: conditions = [storage.example.com/Ready=True (Bound)]")
		assert.True(t, written, "%s", cluster.Story())
		assert.Contains(t, after, "patches configmap default/build-cache: metadata.annotations[storage.example.com/phase] = Bound")
	})
}

// Its answer is lost: the claim was made, the operator tries again and finds it.
func TestTheOperatorSurvivesALostAnswer(t *testing.T) {
	live.Bubble(t, func(t *testing.T) {
		cluster, err := storagesim.New(storagesim.Config{Start: time.Now(), Disks: storagesim.MemoryDisks})
		require.NoError(t, err)
		defer func() { assert.NoError(t, cluster.Close()) }()
		require.NoError(t, cluster.AddProgram(storagesim.Program{Name: "scratch-operator", Run: operator.Run}))
		require.NoError(t, cluster.Inject(engine.Fault{Actor: "scratch-operator", Verb: "create", Resource: "pvc", After: true}))
		require.NoError(t, cluster.Apply(scratch))
		driver := live.Start(cluster.Engine())
		time.Sleep(time.Minute)
		assert.Equal(t, "Bound", phase(t, cluster), "%s", cluster.Story())
		assert.Contains(t, cluster.Story(), "the answer was lost")
		require.NoError(t, driver.Stop())
	}, live.ClientGo()...)
}

// A patch of what has changed meanwhile is a conflict, and the operator begins again.
func TestTheOperatorSurvivesAConflict(t *testing.T) {
	beside(t, func(t *testing.T, cluster *storagesim.Cluster, do func(func() error)) {
		time.Sleep(5 * time.Second)
		do(func() error {
			return cluster.Inject(engine.Fault{Actor: "scratch-operator", Verb: "patch", Resource: "configmaps", Delay: time.Second})
		})
		do(func() error { return cluster.Delete("pvc/build-cache") })
		time.Sleep(500 * time.Millisecond) // the operator's patch is on its way
		maps := cluster.Client().CoreV1().ConfigMaps("default")
		asks, err := maps.Get(t.Context(), "build-cache", metav1.GetOptions{})
		require.NoError(t, err)
		asks.Data = map[string]string{"meanwhile": "yes"}
		_, err = maps.Update(t.Context(), asks, metav1.UpdateOptions{})
		require.NoError(t, err)
		time.Sleep(time.Minute)
		assert.Contains(t, cluster.Story(), "409", "%s", cluster.Story())
		assert.Equal(t, "Pending", phase(t, cluster), "the volume was released, and there is no other")
	})
}

// The operator's process ends; a new one waits for the lease of the old one to expire.
func TestTheOperatorThatCrashesLeadsAgainWhenItsLeaseHasExpired(t *testing.T) {
	beside(t, func(t *testing.T, cluster *storagesim.Cluster, do func(func() error)) {
		time.Sleep(5 * time.Second)
		do(func() error { return cluster.Crash("scratch-operator") })
		do(func() error {
			return cluster.Apply(`
apiVersion: v1
kind: ConfigMap
metadata: {name: second, labels: {storage.example.com/scratch: 1Gi}}
`)
		})
		time.Sleep(5 * time.Second)
		_, err := cluster.Claim("second")
		require.Error(t, err, "the lease is not free yet")
		time.Sleep(30 * time.Second)
		_, err = cluster.Claim("second")
		require.NoError(t, err, "%s", cluster.Story())
	})
}
