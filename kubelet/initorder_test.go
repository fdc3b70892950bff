package kubelet_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

func sidecar(name string, command ...string) v1.Container {
	always := v1.ContainerRestartPolicyAlways
	return v1.Container{Name: name, Image: "busybox", RestartPolicy: &always, Command: command}
}

// Upstream: kuberuntime_container.go computeInitContainerActions, v1.37.2: the next container starts in the next sync, which begins with a status.
// Conformance: made/sidecars_kubelet_restart.
func TestEachSidecarIsInAStatusBeforeTheNextContainerStarts(t *testing.T) {
	w := fakeRuntime(t)
	p := pod("web")
	p.Spec.InitContainers = []v1.Container{sidecar("one"), sidecar("two")}
	w.create(p)
	w.settle()
	trace := w.trace()
	for _, states := range []string{"[one running, two waiting]", "[one running, two running]"} {
		require.Contains(t, trace, "initContainerStatuses = "+states)
	}
	before, after, _ := strings.Cut(trace, "initContainerStatuses = [one running, two running]")
	require.Equal(t, 2, strings.Count(before, "Container started"))
	require.Equal(t, 1, strings.Count(after, "Container started"))
}

// Upstream: kuberuntime_manager.go computePodActions, v1.37.2.
func TestContainersStartAgainWhileASidecarWaits(t *testing.T) {
	w := simple(t)
	p := running("web", "echo main >> /data/log; sleep 5; exit 1")
	side := sidecar("side", "sh", "-c", "echo side >> /data/log; sleep 1; exit 1")
	side.VolumeMounts = p.Spec.Containers[0].VolumeMounts
	p.Spec.InitContainers = []v1.Container{side}
	w.create(p)
	require.NoError(t, w.e.RunFor(9*time.Second))
	require.Equal(t, "CrashLoopBackOff", w.get("web").Status.InitContainerStatuses[0].State.Waiting.Reason)
	require.Equal(t, 2, strings.Count(w.onDisk("/srv/log"), "main"))
}

func TestTheEndOfAnInitContainerIsWrittenBeforeTheNextOneStarts(t *testing.T) {
	w := simple(t)
	p := running("web", "sleep infinity")
	p.Spec.InitContainers = []v1.Container{
		{Name: "one", Image: "busybox", Command: []string{"sleep", "2"}}, {Name: "two", Image: "busybox", Command: []string{"sleep", "2"}},
	}
	w.create(p)
	w.settle()
	before, _, _ := strings.Cut(w.trace(), "initContainerStatuses = [one terminated, two waiting]")
	require.Equal(t, 1, strings.Count(before, "Container started"))
}

// The runtime of upstream's tests ends nothing.
func TestAnInitContainerOfTheFakeRuntimeRunsOn(t *testing.T) {
	w := fakeRuntime(t)
	p := pod("web")
	p.Spec.InitContainers = []v1.Container{{Name: "init", Image: "busybox"}}
	w.create(p)
	require.NoError(t, w.e.RunFor(time.Hour))
	require.NotNil(t, w.get("web").Status.InitContainerStatuses[0].State.Running)
	require.Equal(t, v1.PodPending, w.get("web").Status.Phase)
}

// When its init container is stopped it succeeds, but the kubelet ends the pod as it knew it before: the other container never had its turn.
// Upstream: kubelet.go SyncTerminatedPod and status_manager.go hasPodInitialized, v1.37.2. Conformance: made/deleted_in_init_container.
func TestAPodDeletedWhileItsInitContainerRunsHasNotBegun(t *testing.T) {
	w := fakeRuntime(t)
	p := pod("web")
	p.Spec.InitContainers = []v1.Container{{Name: "init", Image: "busybox"}}
	p.Finalizers = []string{"example.com/look"} // to look at it when the kubelet is done
	w.create(p)
	w.settle()
	w.delete("web")
	w.settle()
	status := w.get("web").Status
	require.Equal(t, v1.PodFailed, status.Phase)
	require.NotNil(t, status.InitContainerStatuses[0].State.Terminated)
	require.NotNil(t, status.ContainerStatuses[0].State.Waiting)
}

// Upstream: prober/worker.go doProbe, v1.37.2, which asks the status whether the container has started, and not the result of the probe.
func TestAYoungSidecarCountsAsNotStartedAfterARestartUntilItsStartupProbeSucceedsAgain(t *testing.T) {
	w := fakeRuntime(t)
	p := pod("web")
	side := sidecar("side")
	side.StartupProbe = &v1.Probe{PeriodSeconds: 2, ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"true"}}}}
	p.Spec.InitContainers = []v1.Container{side}
	w.create(p)
	w.settle()
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
	entries := len(w.e.Trace().Entries())
	require.NoError(t, w.e.Crash(actor))
	w.settle()
	require.True(t, w.get("web").Status.InitContainerStatuses[0].Ready)
	require.Contains(t, w.writesSince("web", entries), "patch pods/status status.conditions status.initContainerStatuses")
}
