package kubelet_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/kubelet/runtime"
)

// onFailure returns a helper pod that is run until it succeeds.
func onFailure(argv ...string) *v1.Pod {
	p := helper(pod("h", hostPath("srv", "/srv", v1.HostPathDirectory)), argv...)
	p.Spec.RestartPolicy = v1.RestartPolicyOnFailure
	return p
}

// forget has the container runtime know nothing of a pod.
func (w *world) forget(p *v1.Pod) {
	w.t.Helper()
	require.NoError(w.t, w.runtime.RemovePodSandbox(p.UID))
}

// touch makes the kubelet look at a pod.
func (w *world) touch(name string) {
	w.t.Helper()
	p := w.get(name)
	p.Labels = map[string]string{"touched": "yes"}
	_, err := w.user.CoreV1().Pods("default").Update(context.Background(), p, metav1.UpdateOptions{})
	require.NoError(w.t, err)
}

func (w *world) requireAllRunning(name string) {
	w.t.Helper()
	for _, c := range w.get(name).Status.ContainerStatuses {
		require.NotNil(w.t, c.State.Running, c.Name)
	}
}

func TestAPodThatTheRuntimeForgetsWhileAContainerWaitsStartsAgain(t *testing.T) {
	w := blockedWorld(t)
	p := w.create(second(pod("web", hostPath("srv", "/srv", v1.HostPathDirectory)), "srv", blocked))
	w.settle()
	w.requireWaiting("web", "d", "CreateContainerConfigError", cannotMake)
	w.forget(p)
	require.NoError(t, w.e.RunFor(time.Minute))
	w.unblock()
	w.requireAllRunning("web")
}

func TestAContainerThatWaitsForTheSecondTimeIsCreatedToo(t *testing.T) {
	w := blockedWorld(t)
	p := w.create(second(pod("web", hostPath("srv", "/srv", v1.HostPathDirectory)), "srv", blocked))
	w.settle()
	w.unblock()
	w.requireAllRunning("web")
	require.NoError(t, w.node.RemoveAll("/srv/file"))
	require.NoError(t, w.node.WriteFile("/srv/file", nil, 0o644))
	w.forget(p)
	w.touch("web")
	w.settle()
	w.requireWaiting("web", "d", "CreateContainerConfigError", cannotMake)
	w.unblock()
	w.requireAllRunning("web")
}

// Upstream: kubelet_pods.go getPhase and convertToAPIContainerStatuses, v1.37: what
// waits to be created again has stopped, and is told by what it was.
func TestAContainerThatCannotBeCreatedAgainLeavesItsPodRunning(t *testing.T) {
	for name, init := range map[string]bool{"alone": false, "after an init container": true} {
		t.Run(name, func(t *testing.T) {
			w := simple(t)
			require.NoError(t, w.node.MkdirAll("/srv/a", 0o755))
			p := onFailure("mkdir", "/srv/x/y")
			p.Spec.Containers[0].VolumeMounts[0].SubPath = "a"
			if init {
				withInit(p, "rm", "-rf", "/srv/nothing")
			}
			w.create(p)
			w.settle()
			require.NoError(t, w.e.RunFor(2*time.Minute))
			before := w.get("h").Status
			require.Equal(t, v1.PodRunning, before.Phase)
			ended := before.ContainerStatuses[0]
			require.Equal(t, "CrashLoopBackOff", ended.State.Waiting.Reason)
			require.NotZero(t, ended.RestartCount)
			last := ended.LastTerminationState.Terminated
			require.EqualValues(t, 1, last.ExitCode)
			require.Equal(t, ended.ContainerID, last.ContainerID)

			require.NoError(t, w.node.RemoveAll("/srv/a"))
			require.NoError(t, w.node.WriteFile("/srv/file", nil, 0o644))
			_, err := w.node.Symlink("/etc", "/srv/a")
			require.NoError(t, err)
			require.NoError(t, w.e.RunFor(10*time.Minute))
			now := w.get("h").Status
			require.Equal(t, v1.PodRunning, now.Phase)
			waits := now.ContainerStatuses[0]
			require.Equal(t, "CreateContainerConfigError", waits.State.Waiting.Reason)
			require.False(t, waits.Ready)
			require.Equal(t, last, waits.LastTerminationState.Terminated)
			require.Equal(t, ended.ContainerID, waits.ContainerID)
			require.Equal(t, ended.RestartCount, waits.RestartCount)

			require.NoError(t, w.node.Remove("/srv/a"))
			require.NoError(t, w.node.MkdirAll("/srv/a/x", 0o755))
			require.NoError(t, w.e.RunFor(10*time.Minute))
			now = w.get("h").Status
			require.Equal(t, v1.PodSucceeded, now.Phase)
			require.Equal(t, ended.RestartCount+1, now.ContainerStatuses[0].RestartCount)
			require.Equal(t, last, now.ContainerStatuses[0].LastTerminationState.Terminated)
			runs := 0
			if init {
				runs = 1
			}
			require.Equal(t, runs, strings.Count(w.trace(), `runs "rm`), "what ended well is not run again")
		})
	}
}

// Upstream: kuberuntime_manager.go computePodActions, v1.37: each container by itself.
func TestAContainerThatFailedIsRunAgainWhateverTheOthersDo(t *testing.T) {
	for name, other := range map[string][]string{"runs": nil, "waits": {"mkdir", "/part/three"}, "ended well": {"mkdir", "/part/three"}} {
		t.Run(name, func(t *testing.T) {
			w := blockedWorld(t)
			p := second(onFailure("mkdir", "/srv/x/y"), "srv", blocked, other...)
			if name != "waits" {
				require.NoError(t, w.node.Remove("/srv/file"))
			}
			w.create(p)
			w.settle()
			require.NoError(t, w.e.RunFor(5*time.Minute))
			before := w.get("h").Status
			require.NotZero(t, before.ContainerStatuses[0].RestartCount)
			require.Zero(t, before.ContainerStatuses[1].RestartCount)
			require.NoError(t, w.node.MkdirAll("/srv/x", 0o755))
			require.NoError(t, w.e.RunFor(10*time.Minute))
			now := w.get("h").Status
			require.NotNil(t, now.ContainerStatuses[0].State.Terminated)
			require.Zero(t, now.ContainerStatuses[0].State.Terminated.ExitCode)
			require.Equal(t, before.ContainerStatuses[1], now.ContainerStatuses[1])
			require.Equal(t, map[string]v1.PodPhase{"runs": v1.PodRunning, "waits": v1.PodPending, "ended well": v1.PodSucceeded}[name], now.Phase)
		})
	}
}

// Upstream: kubelet_pods.go getPhase, v1.37.
func TestAFailedInitContainerKeepsTheOthersFromBeginning(t *testing.T) {
	for policy, phase := range map[v1.RestartPolicy]v1.PodPhase{v1.RestartPolicyNever: v1.PodFailed, v1.RestartPolicyOnFailure: v1.PodPending} {
		t.Run(string(policy), func(t *testing.T) {
			w := simple(t)
			require.NoError(t, w.node.MkdirAll("/srv", 0o755))
			w.boundVolume("data", nil)
			p := withInit(onFailure("mkdir", "/srv/z"), "mkdir", "/srv/x/y")
			p.Spec.Volumes = append(p.Spec.Volumes, claim("data"))
			p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, v1.VolumeMount{Name: "data", MountPath: "/data"})
			p.Spec.RestartPolicy = policy
			w.create(p)
			w.settle()
			require.NoError(t, w.e.RunFor(5*time.Minute))
			s := w.get("h").Status
			require.Equal(t, phase, s.Phase)
			ended := s.InitContainerStatuses[0].State.Terminated
			if policy != v1.RestartPolicyNever {
				require.Equal(t, "CrashLoopBackOff", s.InitContainerStatuses[0].State.Waiting.Reason)
				ended = s.InitContainerStatuses[0].LastTerminationState.Terminated
			}
			require.EqualValues(t, 1, ended.ExitCode)
			require.Equal(t, "PodInitializing", s.ContainerStatuses[0].State.Waiting.Reason)
			for _, c := range s.Conditions {
				if c.Type == v1.PodInitialized {
					require.Equal(t, v1.ConditionFalse, c.Status)
				}
			}
			require.NoError(t, w.node.MkdirAll("/srv/x", 0o755))
			require.NoError(t, w.e.RunFor(10*time.Minute))
			now := w.get("h").Status
			if policy == v1.RestartPolicyNever {
				require.Equal(t, s, now)
				require.Empty(t, w.mounts(), "its volumes are given up")
			} else {
				require.Equal(t, v1.PodSucceeded, now.Phase)
				require.NotZero(t, s.InitContainerStatuses[0].RestartCount)
				require.Equal(t, s.InitContainerStatuses[0].RestartCount+1, now.InitContainerStatuses[0].RestartCount)
				require.Zero(t, now.ContainerStatuses[0].RestartCount)
			}
			w.delete("h")
			w.settle()
			w.requireNothingLeft()
		})
	}
}

// Upstream: kuberuntime_manager.go SyncPod, v1.37.
func TestAPodWithoutAnAddressGetsNoSandbox(t *testing.T) {
	w := simple(t)
	w.create(pod("first"))
	w.settle()
	prefix := strings.TrimSuffix(w.get("first").Status.PodIP, "2")
	require.NoError(t, w.e.Crash(actor))
	w.settle()
	for i := 3; i < 255; i++ {
		require.NoError(t, w.runtime.RunPodSandbox(runtime.PodSandboxConfig{UID: types.UID(fmt.Sprint("u", i))}))
	}
	w.create(pod("web"))
	require.NoError(t, w.e.RunFor(time.Second))
	w.requireEvent("web", "FailedCreatePodSandBox", "Failed to create pod sandbox: no address is free in "+prefix+"0/24")
}
