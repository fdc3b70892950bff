package serve_test

import (
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/live/serve"
)

const noted = `
apiVersion: v1
kind: ConfigMap
metadata: {name: NAME, annotations: {example.com/since: "2001-01-01T00:00:00Z"}}
data: {startTime: "2001-01-01T00:00:00Z"}
`

// kubectl describe tells ages by its own clock, so it is given times of that. All others see virtual time.
func TestDescribeSeesTimesOfItsOwnClock(t *testing.T) {
	for name, tt := range map[string]struct {
		speed float64
		later time.Duration
	}{
		"in steps": {0, 12 * time.Minute}, "in steps, at once": {0, 0}, "at 1x": {1, 12 * time.Minute}, "at 60x": {60, 12 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, err := storagesim.New(storagesim.Config{Disks: storagesim.MemoryDisks})
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, cluster.Close()) })
			require.NoError(t, cluster.Apply(strings.Replace(noted, "NAME", "older", 1)))
			require.NoError(t, cluster.RunFor(time.Minute))
			require.NoError(t, cluster.Apply(strings.Replace(noted, "NAME", "newer", 1)))
			require.NoError(t, cluster.RunFor(tt.later))
			server, err := serve.Start(cluster, serve.Config{Kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"), Speed: tt.speed})
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, server.Close()) })

			older, newer := asCommand(t, server, "older", "kubectl describe"), asCommand(t, server, "newer", "kubectl describe")
			assert.True(t, older.CreationTimestamp.Before(&newer.CreationTimestamp), "of two objects the older is the older one")
			assert.GreaterOrEqual(t, time.Since(newer.CreationTimestamp.Time), tt.later, "what is twelve virtual minutes old is at least so old")
			assert.Equal(t, map[string]string{"startTime": "2001-01-01T00:00:00Z"}, newer.Data, "the user's own text")
			assert.Equal(t, "2001-01-01T00:00:00Z", newer.Annotations["example.com/since"])
			for _, other := range []string{"kubectl get", "kubectl edit", ""} {
				plain := asCommand(t, server, "newer", other)
				var now time.Time
				require.True(t, server.Do(func() { now = cluster.Now() }))
				assert.False(t, plain.CreationTimestamp.After(now), "%q sees virtual time", other)
				assert.NotEqual(t, newer.CreationTimestamp, plain.CreationTimestamp)
			}
		})
	}
}

// asCommand reads an object as a command of kubectl does.
func asCommand(t *testing.T, server *serve.Server, name, command string) *v1.ConfigMap {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", server.Kubeconfig())
	require.NoError(t, err)
	client, err := rest.HTTPClientFor(config)
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL()+"/api/v1/namespaces/default/configmaps/"+name, nil)
	require.NoError(t, err)
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Kubectl-Command", command)
	answer, err := client.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode, string(text))
	var read v1.ConfigMap
	require.NoError(t, json.Unmarshal(text, &read))
	return &read
}
