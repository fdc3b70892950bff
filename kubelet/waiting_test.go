package kubelet_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/kubelet"
)

// withInit gives a pod an init container that mounts what its container mounts.
func withInit(p *v1.Pod, argv ...string) *v1.Pod {
	p.Spec.InitContainers = []v1.Container{{Name: "init", Image: "busybox", Command: argv, VolumeMounts: p.Spec.Containers[0].VolumeMounts}}
	return p
}

// second gives a pod another container, with a part of a volume.
func second(p *v1.Pod, volume, subPath string, argv ...string) *v1.Pod {
	p.Spec.Containers = append(p.Spec.Containers, v1.Container{
		Name: "d", Image: "busybox", Command: argv, VolumeMounts: []v1.VolumeMount{{Name: volume, MountPath: "/part", SubPath: subPath}},
	})
	return p
}

// A part that a file is in the way of.
const blocked = "file/part"

const cannotMake = `failed to prepare subPath for volumeMount "srv" of container "d"`

func blockedWorld(t *testing.T) *world {
	w := simple(t)
	require.NoError(t, w.node.MkdirAll("/srv", 0o755))
	require.NoError(t, w.node.WriteFile("/srv/file", nil, 0o644))
	return w
}

func (w *world) unblock() {
	w.t.Helper()
	require.NoError(w.t, w.node.Remove("/srv/file"))
	require.NoError(w.t, w.e.RunFor(10*time.Minute))
}

// Upstream: kuberuntime_manager.go SyncPod, v1.37: a container that cannot be created
// keeps no other from starting.
func TestAContainerThatCannotBeCreatedWaitsAndTheOthersRun(t *testing.T) {
	w := blockedWorld(t)
	p := w.create(second(pod("web", hostPath("srv", "/srv", v1.HostPathDirectory)), "srv", blocked))
	w.settle()
	w.requireWaiting("web", "d", "CreateContainerConfigError", cannotMake)
	w.requireEvent("web", "Failed", "Error: "+cannotMake)
	statuses := w.get("web").Status.ContainerStatuses
	require.NotNil(t, statuses[0].State.Running)
	require.Empty(t, statuses[1].ContainerID)
	for _, c := range w.get("web").Status.Conditions {
		switch c.Type {
		case v1.PodReadyToStartContainers, v1.PodInitialized:
			require.Equal(t, v1.ConditionTrue, c.Status, c.Type)
		case v1.PodReady, v1.ContainersReady:
			require.Equal(t, "containers with unready status: [d]", c.Message)
		}
	}
	require.NoError(t, kubelet.WriteFile(w.node, w.runtime, p, "/srv/x", nil), "the first one has its volume")

	require.NoError(t, w.e.Crash(actor))
	w.settle()
	w.requireWaiting("web", "d", "CreateContainerConfigError", cannotMake)
	w.unblock()
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
	for _, c := range w.get("web").Status.ContainerStatuses {
		require.NotNil(t, c.State.Running, c.Name)
		require.Zero(t, c.RestartCount, c.Name)
	}
	require.Equal(t, statuses[0].State, w.get("web").Status.ContainerStatuses[0].State, "it was not started again")
	w.delete("web")
	w.settle()
	w.requireNothingLeft()
}

func TestWhatHasRunIsNotRunAgainForAContainerThatWaits(t *testing.T) {
	w := blockedWorld(t)
	p := helper(pod("helper", hostPath("srv", "/srv", v1.HostPathDirectory)), "mkdir", "/srv/two")
	w.create(withInit(second(p, "srv", blocked, "mkdir", "/part/three"), "mkdir", "/srv/one"))
	w.settle()
	w.requireWaiting("helper", "d", "CreateContainerConfigError", cannotMake)
	w.unblock()
	require.Equal(t, v1.PodSucceeded, w.get("helper").Status.Phase, "mkdir fails the second time")
	names, err := w.node.List("/srv")
	require.NoError(t, err)
	require.Equal(t, []string{"file/", "one/", "two/"}, names)
	require.Equal(t, 3, strings.Count(w.trace(), `runs "mkdir`))
}

func TestAnInitContainerThatCannotBeCreatedKeepsTheOthersFromStarting(t *testing.T) {
	w := blockedWorld(t)
	p := withInit(pod("web", hostPath("srv", "/srv", v1.HostPathDirectory)))
	p.Spec.InitContainers[0].VolumeMounts = []v1.VolumeMount{{Name: "srv", MountPath: "/part", SubPath: blocked}}
	w.create(p)
	w.settle()
	w.requireWaiting("web", "init", "CreateContainerConfigError", `failed to prepare subPath for volumeMount "srv" of container "init"`)
	w.requireWaiting("web", "c", "PodInitializing", "")
	for _, c := range w.get("web").Status.Conditions {
		if c.Type == v1.PodInitialized {
			require.Equal(t, v1.ConditionFalse, c.Status)
		}
	}
	w.unblock()
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
}

// Upstream: kubelet_pods.go convertToAPIContainerStatuses, v1.37.
func TestContainersOfAPodWithInitContainersWaitForThem(t *testing.T) {
	w := simple(t)
	w.create(withInit(pod("web", claim("data"))))
	w.settle()
	w.requireWaiting("web", "init", "PodInitializing", "")
	w.requireWaiting("web", "c", "PodInitializing", "")
}

func TestAHostPathThatTheRuntimeCannotMakeIsACreateContainerError(t *testing.T) {
	w := simple(t)
	w.node.Fail(func(op, name string) error {
		if op == "mkdir" && name == "/srv/new" {
			return syscall.EROFS
		}
		return nil
	})
	w.create(pod("web", hostPath("srv", "/srv/new", v1.HostPathUnset)))
	w.settle()
	why := `failed to generate container spec: failed to mkdir "/srv/new": mkdir /srv/new: read-only file system`
	w.requireWaiting("web", "c", "CreateContainerError", why)
	w.requireEvent("web", "Failed", "Error: "+why)
	w.node.Fail(nil)
	require.NoError(t, w.e.RunFor(5*time.Minute))
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
}
