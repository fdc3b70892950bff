package serve_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/rigs/clienttest"
	"github.com/storagesim/storagesim/live/serve"
)

func TestClientsOverHTTPSKeepTheirPromises(t *testing.T) {
	for _, content := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		t.Run(content, func(t *testing.T) {
			clienttest.Run(t, func(t *testing.T) kubernetes.Interface { return overHTTPS(t, content) })
		})
	}
}

// overHTTPS returns a client of a server of its own, on which no controllers run.
func overHTTPS(t *testing.T, content string) kubernetes.Interface {
	t.Helper()
	cluster, err := storagesim.New(storagesim.Config{Only: []string{}, Disks: storagesim.MemoryDisks})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, cluster.Close()) })
	server, err := serve.Start(cluster, serve.Config{Kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, server.Close()) })
	config, err := clientcmd.BuildConfigFromFlags("", server.Kubeconfig())
	require.NoError(t, err)
	config.ContentType, config.QPS = content, -1
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return client
}
