package rest_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
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

// The UID of a binding that is created as an object of its own is forgotten, as of each new object.
func TestABindingOfItsOwnHasNoUIDToCompare(t *testing.T) {
	server := api.NewServer(api.Config{})
	_, err := fake.NewWithoutActions(server, "writer").CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "busybox"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	const body = `{"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p", "uid": "x"}, "target": {"name": "n"}}`
	for _, tc := range []struct {
		path string
		code int
	}{{"pods/p/binding", http.StatusConflict}, {"bindings", http.StatusCreated}} {
		r := httptest.NewRequest(http.MethodPost, "/api/v1/namespaces/default/"+tc.path, strings.NewReader(body))
		w := httptest.NewRecorder()
		handler(server).ServeHTTP(w, r)
		assert.Equal(t, tc.code, w.Code, "%s: %s", tc.path, w.Body)
	}
}
