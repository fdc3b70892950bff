package kubelet_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// Upstream: kuberuntime_container.go computeInitContainerActions, v1.37.2: it asks for the policy of the pod only where an init container is no sidecar.
func TestASidecarThatFailsStartsAgainInAPodThatIsNeverRestarted(t *testing.T) {
	w := simple(t)
	p := running("web", "echo main >> /data/log; sleep 30")
	p.Spec.RestartPolicy = v1.RestartPolicyNever
	always := v1.ContainerRestartPolicyAlways
	p.Spec.InitContainers = []v1.Container{{
		Name: "side", Image: "busybox", RestartPolicy: &always, VolumeMounts: p.Spec.Containers[0].VolumeMounts,
		Command: []string{"sh", "-c", "echo side >> /data/log; sleep 2; exit 1"},
	}}
	w.create(p)
	require.NoError(t, w.e.RunFor(25*time.Second))
	require.Equal(t, 3, strings.Count(w.onDisk("/srv/log"), "side"))
	require.Equal(t, 1, strings.Count(w.onDisk("/srv/log"), "main"))
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
	require.NoError(t, w.e.RunFor(time.Minute))
	require.Equal(t, v1.PodSucceeded, w.get("web").Status.Phase)
}

func TestASidecarThatCannotBeStartedIsTriedAgainInAPodThatIsNeverRestarted(t *testing.T) {
	w := simple(t)
	p := running("web", "sleep 30")
	p.Spec.RestartPolicy = v1.RestartPolicyNever
	always := v1.ContainerRestartPolicyAlways
	p.Spec.InitContainers = []v1.Container{{Name: "side", Image: "busybox", RestartPolicy: &always, Command: []string{"/nosuch"}}}
	w.create(p)
	require.NoError(t, w.e.RunFor(time.Minute))
	status := w.get("web").Status
	require.Equal(t, v1.PodPending, status.Phase)
	side := status.InitContainerStatuses[0]
	require.Equal(t, "CrashLoopBackOff", side.State.Waiting.Reason)
	require.Equal(t, "StartError", side.LastTerminationState.Terminated.Reason)
	require.GreaterOrEqual(t, side.RestartCount, int32(2))
}
