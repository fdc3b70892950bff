package kubelet_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Upstream: status_manager.go syncBatch and needsReconcile, v1.37.2. Conformance: made/status_by_hand.
func TestAStatusThatAnotherClientHasChangedIsWrittenAgain(t *testing.T) {
	w := fakeRuntime(t)
	w.create(pod("web"))
	w.settle()
	before := w.get("web").Status
	require.Equal(t, v1.PodRunning, before.Phase)
	for _, patch := range []string{
		`{"status":{"phase":"Failed"}}`, `{"status":{"phase":"Pending","reason":"X","message":"y"}}`, `{"status":{"containerStatuses":null}}`,
	} {
		_, err := w.user.CoreV1().Pods("default").Patch(context.Background(), "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
		require.NoError(t, err)
		require.NotEqual(t, before, w.get("web").Status, patch)
		require.NoError(t, w.e.RunFor(10*time.Second))
		require.Equal(t, before, w.get("web").Status, patch)
	}
	writes := len(w.writes("web"))
	require.NoError(t, w.e.RunFor(time.Hour))
	require.Len(t, w.writes("web"), writes, "its own is written once")
}
