package rest_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/websocket"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/api/rest"
)

func handlerOf(server *api.Server) *rest.Handler {
	return rest.New(server, server.Registry(), time.Now)
}

func TestAWatchOverAWebSocketSendsEachEventAsAMessage(t *testing.T) {
	server := api.NewServer(api.Config{})
	maps := fake.New(server, "tester").CoreV1().ConfigMaps("default")
	_, err := maps.Create(context.Background(), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	port := httptest.NewServer(handlerOf(server))
	defer port.Close()
	const path = "/api/v1/namespaces/default/configmaps?watch=true"
	conn, err := websocket.Dial("ws"+strings.TrimPrefix(port.URL, "http")+path, "", port.URL)
	require.NoError(t, err)
	defer conn.Close()
	next := func() (string, string) {
		var text string
		require.NoError(t, websocket.Message.Receive(conn, &text))
		var event struct {
			Type   string
			Object v1.ConfigMap
		}
		require.NoError(t, json.Unmarshal([]byte(text), &event), text)
		return event.Type, event.Object.Kind + " " + event.Object.Name
	}
	kind, name := next()
	assert.Equal(t, "ADDED ConfigMap a", kind+" "+name)
	require.NoError(t, websocket.Message.Send(conn, "what a client says is ignored"))
	require.NoError(t, maps.Delete(context.Background(), "a", metav1.DeleteOptions{}))
	kind, name = next()
	assert.Equal(t, "DELETED ConfigMap a", kind+" "+name)
}

func TestAWatchOverAWebSocketEndsWithItsTime(t *testing.T) {
	port := httptest.NewServer(handlerOf(api.NewServer(api.Config{})))
	defer port.Close()
	conn, err := websocket.Dial("ws"+strings.TrimPrefix(port.URL, "http")+"/api/v1/nodes?watch=1&timeoutSeconds=1", "", port.URL)
	require.NoError(t, err)
	defer conn.Close()
	var text string
	require.Error(t, websocket.Message.Receive(conn, &text), "the server closes the connection")
}

func TestAWatchThatCannotBecomeAWebSocketIsRefusedAsAnyOther(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/api/v1/nodes?watch=1", nil)
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "websocket")
	w := httptest.NewRecorder()
	handlerOf(api.NewServer(api.Config{})).ServeHTTP(w, r)
	assert.Equal(t, http.StatusBadRequest, w.Code)
	assert.Contains(t, w.Body.String(), "cannot become a WebSocket")
}
