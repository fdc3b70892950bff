package kubelet_test

import (
	"io/fs"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// debug adds an ephemeral container to a pod, as kubectl debug does.
func (w *world) debug(name, container, script string, change func(*v1.EphemeralContainer)) {
	w.t.Helper()
	p := w.get(name)
	added := v1.EphemeralContainer{EphemeralContainerCommon: v1.EphemeralContainerCommon{
		Name: container, Image: "busybox", Command: []string{"sh", "-c", script},
		VolumeMounts: []v1.VolumeMount{{Name: "data", MountPath: "/data"}},
	}}
	if change != nil {
		change(&added)
	}
	p.Spec.EphemeralContainers = append(p.Spec.EphemeralContainers, added)
	_, err := w.user.CoreV1().Pods(p.Namespace).UpdateEphemeralContainers(w.t.Context(), name, p, metav1.UpdateOptions{})
	require.NoError(w.t, err)
	w.settle()
}

func TestAnEphemeralContainerRunsOnceInAPodThatRuns(t *testing.T) {
	w := simple(t)
	w.create(running("web", "sleep 1000000"))
	w.settle()
	w.debug("web", "a", "echo one >> /data/log; exit 3", nil)
	w.debug("web", "b", "echo two >> /data/log; sleep 1000000", nil)
	p := w.get("web")
	require.Equal(t, v1.PodRunning, p.Status.Phase)
	require.Len(t, p.Status.EphemeralContainerStatuses, 2)
	a, b := p.Status.EphemeralContainerStatuses[0], p.Status.EphemeralContainerStatuses[1]
	require.Equal(t, "a", a.Name)
	require.NotNil(t, a.State.Terminated)
	require.Equal(t, int32(3), a.State.Terminated.ExitCode)
	require.NotNil(t, b.State.Running)
	require.False(t, b.Ready, "none ever is")
	require.Nil(t, b.Started)
	require.Zero(t, p.Status.ContainerStatuses[0].RestartCount)
	require.NoError(t, w.e.Crash("kubelet/node-1"))
	w.settle()
	require.NoError(t, w.e.RunFor(10*time.Minute))
	require.Equal(t, "one\ntwo\n", w.onDisk("/srv/log"), "each runs once, and outlives its kubelet")
	require.Equal(t, p.Status, w.get("web").Status)
	w.delete("web")
	w.settle()
	require.True(t, w.gone("web"))
	w.requireNothingLeft()
}

func TestAnEphemeralContainerEndsWithItsPodAndKeepsItFromNothing(t *testing.T) {
	w := simple(t)
	w.create(helper(running("job", ""), "sh", "-c", "sleep 600"))
	w.settle()
	w.debug("job", "a", "sleep 1000000", nil)
	require.NotNil(t, w.get("job").Status.EphemeralContainerStatuses[0].State.Running)
	require.NoError(t, w.e.RunFor(20*time.Minute))
	p := w.get("job")
	require.Equal(t, v1.PodSucceeded, p.Status.Phase)
	require.NotNil(t, p.Status.EphemeralContainerStatuses[0].State.Terminated)
	w.debug("job", "late", "echo late >> /data/log", nil)
	require.NoError(t, w.e.RunFor(20*time.Minute))
	_, err := w.node.Stat("/srv/log")
	require.ErrorIs(t, err, fs.ErrNotExist, "a pod that has ended starts none")
}

func TestAnEphemeralContainerThatCannotBeginWaitsAndLeavesItsPodAlone(t *testing.T) {
	w := simple(t)
	w.create(running("web", "sleep 1000000"))
	w.settle()
	w.debug("web", "a", "echo one >> /data/log", func(c *v1.EphemeralContainer) { c.Image, c.ImagePullPolicy = "tools", v1.PullNever })
	p := w.get("web")
	require.Equal(t, v1.PodRunning, p.Status.Phase)
	require.Equal(t, "ErrImageNeverPull", p.Status.EphemeralContainerStatuses[0].State.Waiting.Reason)
	w.requireEvent("web", "ErrImageNeverPull", "is not present with pull policy of Never")
	w.delete("web")
	w.settle()
	require.True(t, w.gone("web"))
}
