package kubelet_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/kubelet"
)

func TestAPodGetsItsLocalVolumeAndRuns(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", nil)
	w.create(pod("web", claim("data")))
	w.settle()

	p := w.get("web")
	require.Equal(t, v1.PodRunning, p.Status.Phase)
	require.NotEmpty(t, p.Status.PodIP)
	require.NotEmpty(t, p.Status.HostIP)
	require.NotNil(t, p.Status.StartTime)
	require.True(t, p.Status.ContainerStatuses[0].Ready)
	conditions := map[v1.PodConditionType]v1.ConditionStatus{}
	for _, c := range p.Status.Conditions {
		conditions[c.Type] = c.Status
		require.Empty(t, c.Reason, "%s: the reason for not being ready is gone", c.Type)
	}
	for _, c := range []v1.PodConditionType{v1.PodInitialized, v1.PodReady, v1.ContainersReady, v1.PodReadyToStartContainers} {
		require.Equal(t, v1.ConditionTrue, conditions[c], c)
	}
	dir := "/var/lib/kubelet/pods/" + string(p.UID) + "/volumes/kubernetes.io~local-volume/pv-data"
	require.NoError(t, kubelet.WriteFile(w.node, w.runtime, p, "/data/greet.txt", []byte("hello")))
	for _, at := range []string{"/disk/data/greet.txt", dir + "/greet.txt"} {
		data, err := w.node.ReadFile(at)
		require.NoError(t, err)
		require.Equal(t, "hello", string(data))
	}
	require.Contains(t, w.trace(), "mounts pv-data: /disk/data -> "+dir+" for pod default/web")
	w.requireEvent("web", "Started", "Container started")

	w.delete("web")
	require.NotNil(t, w.get("web").DeletionTimestamp, "it is terminating, not gone")
	w.settle()
	w.requireNothingLeft()
	_, err := w.node.ReadFile("/disk/data/greet.txt")
	require.NoError(t, err, "the data stays")
	w.requireEvent("web", "Killing", "c")
}

func TestAForceDeletedPodLeavesNothing(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", nil)
	w.create(pod("web", claim("data")))
	w.settle()
	w.delete("web", 0)
	w.settle()
	w.requireNothingLeft()
}

func TestAPodOfTheSameNameIsAnotherPod(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", nil)
	first := w.create(pod("web", claim("data")))
	w.settle()
	w.delete("web", 0)
	second := w.create(pod("web", claim("data")))
	w.settle()
	require.NotEqual(t, first.UID, second.UID)
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
	require.Len(t, w.mounts(), 1)
	require.Contains(t, w.mounts()[0].Path, string(second.UID))
}

func TestAnEmptyDirLivesAsLongAsItsPod(t *testing.T) {
	w := simple(t)
	p := w.create(pod("web", v1.Volume{Name: "tmp", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}))
	w.settle()
	require.NoError(t, kubelet.WriteFile(w.node, w.runtime, p, "/tmp/x", []byte("1")))
	require.NoError(t, w.e.Crash(actor))
	w.settle()
	_, err := kubelet.ReadFile(w.node, w.runtime, p, "/tmp/x")
	require.NoError(t, err, "it outlives the kubelet's crash")
	w.delete("web")
	w.settle()
	w.requireNothingLeft()
}
