package serve_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/control/snapshots"
	"github.com/storagesim/storagesim/internal/rigs/soon"
	"github.com/storagesim/storagesim/live/serve"
)

func TestTheSnapshotControllerRunsAsSoonAsAClientHasDefinedItsKinds(t *testing.T) {
	cluster, err := storagesim.New(storagesim.Config{Start: time.Now(), Disks: storagesim.MemoryDisks})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, cluster.Close()) })
	server, err := serve.Start(cluster, serve.Config{Kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, server.Close()) })
	config, err := clientcmd.BuildConfigFromFlags("", server.Kubeconfig())
	require.NoError(t, err)
	runs := func() (runs bool) {
		server.Do(func() { runs = slices.Contains(cluster.Engine().Actors(), storagesim.SnapshotController) })
		return runs
	}
	definitions, err := snapshots.Definitions()
	require.NoError(t, err)
	require.Len(t, definitions, 3)
	for _, text := range definitions {
		require.False(t, runs(), "a kind is missing")
		body, err := yaml.YAMLToJSON([]byte(text))
		require.NoError(t, err)
		created := clientOf(t, config).Discovery().RESTClient().Post().AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").Body(body).Do(t.Context())
		require.NoError(t, created.Error())
	}
	require.True(t, soon.Is(t, runs))
}
