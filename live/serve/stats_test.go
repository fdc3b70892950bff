package serve_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/live/serve"
)

// The kubelet asks a driver, which takes steps of the cluster also while no time passes.
func TestAKubeletTellsAClientHowFullVolumesAre(t *testing.T) {
	for name, speed := range map[string]float64{"in steps": 0, "at 60x": 60} {
		t.Run(name, func(t *testing.T) {
			cluster, err := storagesim.New(storagesim.Config{Disks: storagesim.MemoryDisks})
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, cluster.Close()) })
			require.NoError(t, cluster.InstallCSIDriver(driver.Config{}))
			require.NoError(t, cluster.Apply(clustertest.CSIManifests))
			require.NoError(t, cluster.RunFor(time.Minute))
			server, err := serve.Start(cluster, serve.Config{Kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"), Speed: speed})
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, server.Close()) })
			config, err := clientcmd.BuildConfigFromFlags("", server.Kubeconfig())
			require.NoError(t, err)
			client := clientOf(t, config).CoreV1().RESTClient()
			text, err := client.Get().AbsPath("/api/v1/nodes/node-1/proxy/metrics").DoRaw(t.Context())
			require.NoError(t, err)
			require.Contains(t, string(text), `kubelet_volume_stats_used_bytes{namespace="default",persistentvolumeclaim="data"} 6`)

			result := client.Get().AbsPath("/api/v1/nodes/node-2/proxy/metrics").Do(t.Context())
			require.EqualError(t, result.Error(), `nodes "node-2" not found`)
			server.Do(func() { err = cluster.Stop("kubelet/node-1") })
			require.NoError(t, err)
			result = client.Get().AbsPath("/api/v1/nodes/node-1/proxy/metrics").Do(t.Context())
			require.ErrorContains(t, result.Error(), "error trying to reach service: dial tcp ")
		})
	}
}
