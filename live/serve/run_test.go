package serve_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/live/serve"
)

// prepared returns another cluster for a server.
func prepared(t *testing.T, server *serve.Server) *storagesim.Cluster {
	t.Helper()
	c, err := storagesim.New(storagesim.Config{Start: time.Now(), Disks: storagesim.MemoryDisks})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	require.NoError(t, server.Prepare(c))
	return c
}

func TestAnotherClusterTakesThePlaceOfTheOneThatWasOffered(t *testing.T) {
	server, config := started(t, serve.Config{})
	client := clientOf(t, config)
	w, err := client.CoreV1().Namespaces().Watch(t.Context(),
		metav1.ListOptions{SendInitialEvents: new(false), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	require.NoError(t, err)
	_, err = client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, server.Changed(), "lists and watches change nothing")

	other := prepared(t, server)
	_, err = other.Client().CoreV1().Namespaces().Create(t.Context(), &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	called := 0
	require.NoError(t, server.Replace(other, func() { called++ }))
	event := <-w.ResultChan()
	require.Equal(t, watch.Error, event.Type)
	err = apierrors.FromObject(event.Object)
	require.True(t, apierrors.IsResourceExpired(err), "%v", err)
	require.ErrorContains(t, err, "the cluster went back to an earlier step")
	_, more := <-w.ResultChan()
	require.False(t, more)

	_, err = client.CoreV1().Namespaces().Get(t.Context(), "other", metav1.GetOptions{})
	require.NoError(t, err)
	_, err = client.CoreV1().ConfigMaps("default").Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
	require.NoError(t, err)
	var nodes int
	require.True(t, server.Do(func() { nodes = len(other.Engine().Actors()) }))
	require.NotZero(t, nodes)
	_, err = client.CoreV1().ConfigMaps("default").Create(t.Context(), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, 1, called)
	require.Equal(t, "POST /api/v1/namespaces/default/configmaps", server.Changed())
	require.ErrorContains(t, server.Replace(prepared(t, server), nil), "another client may have changed the cluster: POST /api/v1/namespaces/default/configmaps")
	require.NoError(t, server.Close())
	require.Error(t, server.Replace(prepared(t, server), nil))
	require.False(t, server.Do(func() {}))
}

func TestWhichRequestsMayChangeTheCluster(t *testing.T) {
	for path, want := range map[string]string{
		"GET /api/v1/pods": "", "GET /storagesim/story": "", "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews": "",
		"POST /storagesim/step": "POST /storagesim/step", "GET /api/v1/namespaces/default/pods/web/exec": "GET /api/v1/namespaces/default/pods/web/exec",
		"DELETE /api/v1/namespaces/default/pods/web": "DELETE /api/v1/namespaces/default/pods/web",
	} {
		server, config := started(t, serve.Config{})
		verb, path, _ := strings.Cut(path, " ")
		_ = clientOf(t, config).RESTClient().Verb(verb).AbsPath(path).Body([]byte("{}")).Do(t.Context()).Error() // some are refused
		require.Equal(t, want, server.Changed(), path)
	}
}
