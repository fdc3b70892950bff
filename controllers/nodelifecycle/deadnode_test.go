package nodelifecycle_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/call"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/storagesimtest"
	"github.com/storagesim/storagesim/trace"
)

const dbSet = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: csi}
provisioner: csi.storagesim.io
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: busybox, volumeMounts: [{name: data, mountPath: /data}]}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], storageClassName: csi, resources: {requests: {storage: 1Gi}}}
`

// dbOnDeadNode returns a cluster of two nodes with a StatefulSet of one replica, whose node has
// been off for ten minutes.
func dbOnDeadNode(tb testing.TB, seed uint64, trouble func(c *storagesimtest.Cluster)) (c *storagesimtest.Cluster, dead string) {
	tb.Helper()
	c = storagesimtest.New(tb, storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2"), Disks: storagesim.MemoryDisks, Seed: seed})
	neverOnTwoNodes(tb, c)
	c.InstallCSIDriver(driver.Config{})
	c.RunFor(5 * time.Second)
	if trouble != nil {
		trouble(c)
	}
	c.Apply(dbSet)
	c.RunFor(5 * time.Minute)
	c.RequireRunning("db-0")
	dead = c.Pod("db-0").Spec.NodeName
	c.Stop("node/" + dead)
	c.RunFor(10 * time.Minute)
	return c, dead
}

// neverOnTwoNodes fails the test if a volume is attached to two nodes at once.
func neverOnTwoNodes(tb testing.TB, c *storagesimtest.Cluster) {
	on := map[string]string{} // node by volume
	c.Engine().Server().OnWrite(func(w trace.Write) {
		old, _ := w.Old.(*storagev1.VolumeAttachment)
		va, _ := w.New.(*storagev1.VolumeAttachment)
		if old != nil && (va == nil || !va.Status.Attached) && on[*old.Spec.Source.PersistentVolumeName] == old.Spec.NodeName {
			delete(on, *old.Spec.Source.PersistentVolumeName)
		}
		if va == nil || !va.Status.Attached {
			return
		}
		pv := *va.Spec.Source.PersistentVolumeName
		if other := on[pv]; other != "" && other != va.Spec.NodeName {
			tb.Errorf("pv %s is attached to %s and %s", pv, other, va.Spec.NodeName)
		}
		on[pv] = va.Spec.NodeName
	})
}

func outOfService(tb testing.TB, c *storagesimtest.Cluster, node string) {
	tb.Helper()
	patch := `[{"op": "add", "path": "/spec/taints/-", "value": {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}}]`
	_, err := c.Client().CoreV1().Nodes().Patch(tb.Context(), node, types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(tb, err)
}

func TestAStatefulSetMakesNoSecondReplicaWhileTheFirstMayRunOnADeadNode(t *testing.T) {
	for way, move := range map[string]func(c *storagesimtest.Cluster, dead string){
		"out of service": func(c *storagesimtest.Cluster, dead string) {
			outOfService(t, c, dead)
			c.RunFor(2 * time.Minute)
		},
		"deleted by force": func(c *storagesimtest.Cluster, dead string) {
			require.NoError(t, c.Client().CoreV1().Pods("default").Delete(t.Context(), "db-0", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
			c.RunFor(5 * time.Minute)
			assert.Equal(t, v1.PodPending, c.Pod("db-0").Status.Phase, "the volume is still attached to the dead node")
			c.RunFor(3 * time.Minute)
		},
	} {
		for seed := range uint64(4) {
			t.Run(fmt.Sprintf("%s, seed %d", way, seed), func(t *testing.T) {
				c, dead := dbOnDeadNode(t, seed, nil)
				first := c.Pod("db-0")
				require.NotNil(t, first.DeletionTimestamp)
				c.RunFor(time.Hour)
				require.Equal(t, first.UID, c.Pod("db-0").UID, "it stays Terminating")
				require.Equal(t, map[string]int{dead: 1}, clustertest.PerNode(t, c.Client()))

				move(c, dead)
				c.RequireRunning("db-0")
				assert.NotEqual(t, dead, c.Pod("db-0").Spec.NodeName)
				assert.NotEqual(t, first.UID, c.Pod("db-0").UID)
			})
		}
	}
}

// strideOf returns the distance between two calls that have trouble: 1 with STORAGESIM_SEEDS, as
// in .ci/nightly, else the usual distance, and more with -short.
func strideOf(usual int) int {
	switch {
	case os.Getenv("STORAGESIM_SEEDS") != "":
		return 1
	case testing.Short():
		return 2*usual + 1
	}
	return usual
}

// Before or after each call to the API of each component that takes part, it crashes. The
// replica moves all the same, its volume is never on two nodes, and nothing is left in the end.
func TestACrashBeforeOrAfterAnyCallWhileAVolumeMovesOffADeadNodeLosesNothing(t *testing.T) {
	t.Parallel()
	stride := strideOf(3)
	for _, actor := range []string{
		storagesim.AttachDetach, storagesim.TaintEviction, storagesim.PodGC, storagesim.NodeLifecycle, "kubelet/node-2", "csi-attacher/csi.storagesim.io",
	} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, after: %t", actor, after), func(t *testing.T) {
				for n := 0; n <= 60; n += stride { // then only signs of life follow
					crashed := moveWithTrouble(t, func(c *storagesimtest.Cluster) {
						c.Inject(engine.Fault{Actor: actor, Skip: n, Crash: true, After: after})
					})
					if crashed == 0 {
						require.Greater(t, n, 1, "%s makes calls", actor)
						return
					}
				}
			})
		}
	}
}

// The same with each call of the driver: its process ends before it or after it, and has
// forgotten what was in its memory.
func TestADriverThatCrashesAtAnyCallWhileAVolumeMovesOffADeadNodeLosesNothing(t *testing.T) {
	t.Parallel()
	stride := strideOf(3)
	for _, after := range []bool{false, true} {
		n := 0
		for ; ; n += stride {
			crashed := moveWithTrouble(t, func(c *storagesimtest.Cluster) {
				c.Inject(call.Fault{Skip: n, Crash: true, After: after, Restart: 3 * time.Second})
			})
			if crashed == 0 {
				break
			}
		}
		require.Greater(t, n, 20, "so many calls there are at least")
	}
}

// moveWithTrouble says how many processes crashed.
func moveWithTrouble(t *testing.T, trouble func(c *storagesimtest.Cluster)) (crashed int) {
	t.Helper()
	c, dead := dbOnDeadNode(t, 0, trouble)
	outOfService(t, c, dead)
	c.RunFor(5 * time.Minute)
	c.RequireRunning("db-0")
	require.NotEqual(t, dead, c.Pod("db-0").Spec.NodeName)
	c.Start("node/" + dead)
	c.RunFor(time.Minute)
	c.Delete("statefulset/db")
	c.RunFor(10 * time.Minute)
	c.RequireNoLeaks()
	for _, e := range c.Trace().Records() {
		if _, ok := e.Record.(trace.Crashed); ok {
			crashed++
		}
	}
	require.NoError(t, c.Close())
	return crashed
}

// From the deletion of the pod of a dead node to its successor that runs elsewhere, with
// kubelets that mount. The six minutes are in it.
func BenchmarkMoveOffDeadNodeWithKubelets(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		c, _ := dbOnDeadNode(b, 0, nil)
		b.StartTimer()
		require.NoError(b, c.Client().CoreV1().Pods("default").Delete(b.Context(), "db-0", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
		c.RunFor(8 * time.Minute)
		b.StopTimer()
		c.RequireRunning("db-0")
		require.NoError(b, c.Close())
		b.StartTimer()
	}
}
