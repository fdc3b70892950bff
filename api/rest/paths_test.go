package rest_test

import (
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/api"
)

func TestTheRootListsThePaths(t *testing.T) {
	w := httptest.NewRecorder()
	handler(api.NewServer(api.Config{})).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	require.Equal(t, 200, w.Code)
	assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
	var root metav1.RootPaths
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &root))
	assert.IsIncreasing(t, root.Paths)
	assert.Subset(t, root.Paths, []string{"/api/v1", "/apis/storage.k8s.io", "/apis/storage.k8s.io/v1", "/version"})
	assert.NotContains(t, root.Paths, "/apis/lifecycle.k8s.io", "a cluster serves it on request only")
}
