package csi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/trace"
)

// BenchmarkCSIClaim brings claims of the reference driver to running pods and back to nothing,
// all at once, over gRPC in memory. Making the cluster and registering the driver do not
// count. With -short it makes a hundredth of many claims.
func BenchmarkCSIClaim(b *testing.B) {
	for _, claims := range []int{1, 1000, 2000} {
		b.Run(fmt.Sprint(claims), func(b *testing.B) {
			if testing.Short() && claims > 1 {
				claims /= 100
			}
			calls := 0
			for b.Loop() {
				b.StopTimer()
				c := clusterForClaims(b, claims)
				b.StartTimer()
				csiClaimsThereAndBack(b, c, claims)
				b.StopTimer()
				for _, entry := range c.Trace().Records() {
					if _, ok := entry.Record.(trace.RPC); ok {
						calls++
					}
				}
				require.NoError(b, c.Close())
				b.StartTimer()
			}
			n := float64(b.N * claims)
			b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/n, "ms/claim")
			b.ReportMetric(float64(calls)/n, "calls/claim")
		})
	}
}

// BenchmarkCSIClaimWrites sends the writes and events of BenchmarkCSIClaim/1 to a server alone, those of making the cluster and registering the
// driver included, and those alone: the difference is the part below which it cannot come with these writes.
func BenchmarkCSIClaimWrites(b *testing.B) {
	c := clusterForClaims(b, 1)
	before := len(c.Engine().Trace().Entries())
	csiClaimsThereAndBack(b, c, 1)
	records := c.Engine().Trace().Entries()
	for name, part := range map[string][]trace.Entry{"all": records, "cluster": records[:before]} {
		b.Run(name, func(b *testing.B) { clustertest.BenchReplay(b, part) })
	}
	require.NoError(b, c.Close())
}

func clusterForClaims(b *testing.B, claims int) *storagesim.Cluster {
	var names []string
	for i := range 1 + claims/100 {
		names = append(names, fmt.Sprintf("node-%d", i+1))
	}
	c, err := storagesim.New(storagesim.Config{Disks: storagesim.MemoryDisks, Nodes: storagesim.Nodes(names...)})
	require.NoError(b, err)
	require.NoError(b, c.InstallCSIDriver(driver.Config{Capacity: 1 << 50})) // the default is full with 1,024 claims
	require.NoError(b, c.Apply("{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: csi}, provisioner: csi.storagesim.io}"))
	require.NoError(b, c.RunFor(5*time.Second))
	return c
}

func csiClaimsThereAndBack(b *testing.B, c *storagesim.Cluster, claims int) {
	var manifests strings.Builder
	for i := range claims {
		fmt.Fprintf(&manifests, `---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data-%[1]d}, spec: {accessModes: [ReadWriteOnce], storageClassName: csi,
  resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web-%[1]d}, spec: {terminationGracePeriodSeconds: 1,
  containers: [{name: c, image: busybox, command: [sleep, "100000"], volumeMounts: [{name: v, mountPath: /data}]}],
  volumes: [{name: v, persistentVolumeClaim: {claimName: data-%[1]d}}]}}
`, i)
	}
	require.NoError(b, c.Apply(manifests.String()))
	until := func(what string, done func() bool) {
		for end := c.Now().Add(time.Hour); !done(); require.NoError(b, c.RunFor(5*time.Second)) {
			require.True(b, c.Now().Before(end), what)
		}
	}
	until("pods run", func() bool {
		pods, err := c.Client().CoreV1().Pods("default").List(b.Context(), metav1.ListOptions{FieldSelector: "status.phase=" + string(v1.PodRunning)})
		require.NoError(b, err)
		return len(pods.Items) == claims
	})
	for i := range claims {
		require.NoError(b, c.Delete(fmt.Sprintf("pod/web-%d", i), fmt.Sprintf("pvc/data-%d", i)))
	}
	until("volumes are gone", func() bool {
		volumes, err := c.Client().CoreV1().PersistentVolumes().List(b.Context(), metav1.ListOptions{})
		require.NoError(b, err)
		return len(volumes.Items) == 0
	})
}

// BenchmarkSnapshotThereAndBack takes a snapshot of a volume, restores it into a claim, and deletes both.
func BenchmarkSnapshotThereAndBack(b *testing.B) {
	c := clusterForClaims(b, 1)
	require.NoError(b, c.Apply(growingClaim("1Gi")))
	require.NoError(b, c.Apply(snapClass))
	require.NoError(b, c.RunFor(5*time.Second))
	for b.Loop() {
		require.NoError(b, c.Apply(snapOf("data")))
		require.NoError(b, c.RunFor(2*time.Second))
		require.NoError(b, c.Apply(copyOf("VolumeSnapshot s1")))
		require.NoError(b, c.RunFor(2*time.Second))
		copied, err := c.Claim("copy")
		require.NoError(b, err)
		require.Equal(b, v1.ClaimBound, copied.Status.Phase)
		require.NoError(b, c.Delete("volumesnapshot/s1", "pvc/copy"))
		require.NoError(b, c.RunFor(2*time.Second))
		volumes, err := c.Client().CoreV1().PersistentVolumes().List(b.Context(), metav1.ListOptions{})
		require.NoError(b, err)
		require.Len(b, volumes.Items, 1)
	}
}
