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

// Upstream: kuberuntime_manager.go computePodActions, v1.37.2.
func TestAContainerWhoseImageChangesIsStartedAgain(t *testing.T) {
	w := simple(t)
	web := pod("web")
	web.Spec.RestartPolicy = v1.RestartPolicyNever
	w.create(web)
	w.settle()
	_, err := w.user.CoreV1().Pods("default").Patch(context.Background(), "web", types.StrategicMergePatchType,
		[]byte(`{"spec":{"containers":[{"name":"c","image":"busybox:2"}]}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.NoError(t, w.e.RunFor(time.Minute))
	w.requireEvent("web", "Killing", "Container c definition changed, will be restarted")
	w.requireEvent("web", "Pulled", `"busybox:2"`)
	status := w.get("web").Status
	require.Equal(t, v1.PodRunning, status.Phase)
	require.Equal(t, int32(1), status.ContainerStatuses[0].RestartCount, "whatever the restart policy says, and once")
	require.Equal(t, "busybox:2", status.ContainerStatuses[0].Image)
}
