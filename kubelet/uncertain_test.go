package kubelet_test

import (
	"context"
	"errors"
	"io/fs"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/engine"
)

// Upstream: local.go SetUpAt, v1.37: what fails after the mount leaves it, and the next
// attempt finds it.
func TestAVolumeThatIsMountedButNotGivenToItsGroupIsTakenAwayWithItsPod(t *testing.T) {
	for _, retried := range []bool{false, true} {
		w := simple(t)
		w.boundVolume("data", nil)
		w.node.Fail(func(op, name string) error {
			if op == "readdir" && name == "/disk/data" {
				return syscall.EIO
			}
			return nil
		})
		group := int64(4000)
		p := pod("web", claim("data"))
		p.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: &group}
		w.create(p)
		for len(w.events("web")) == 0 {
			_, err := w.e.Step()
			require.NoError(t, err)
		}
		w.requireEvent("web", "FailedMount", `MountVolume.SetUp failed for volume "pv-data" : readdir /disk/data: input/output error`)
		require.Len(t, w.mounts(), 1)
		if retried {
			w.settle()
			require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
		}
		w.delete("web")
		w.settle()
		w.requireNothingLeft()
	}
}

// A volume whose SetUp failed once more, since its ConfigMap is gone, keeps its content.
func TestAVolumeThatCannotBeBroughtUpToDateIsStillMounted(t *testing.T) {
	w := simple(t)
	w.configMap("app", map[string]string{"a": "1"})
	p := helper(pod("web", configVolume("app"), hostPath("srv", "/srv", v1.HostPathDirectoryOrCreate)), "mkdir", "/srv/a/b")
	p.Spec.RestartPolicy = v1.RestartPolicyOnFailure
	p = w.create(p)
	w.settle()
	require.NoError(t, w.user.CoreV1().ConfigMaps("default").Delete(context.Background(), "app", metav1.DeleteOptions{}))
	require.NoError(t, w.e.RunFor(2*time.Minute))
	w.requireEvent("web", "FailedMount", `configmap "app" not found`)
	require.Equal(t, "1", w.read(p, "/config/a"))
	restarts := w.get("web").Status.ContainerStatuses[0].RestartCount
	require.NoError(t, w.e.RunFor(10*time.Minute))
	require.Greater(t, w.get("web").Status.ContainerStatuses[0].RestartCount, restarts, "the pod goes on")
	require.NoError(t, w.node.MkdirAll("/srv/a", 0o755))
	require.NoError(t, w.e.RunFor(10*time.Minute))
	require.Equal(t, v1.PodSucceeded, w.get("web").Status.Phase)
	w.delete("web")
	w.settle()
	w.requireNothingLeft()
}

// Upstream: reconciler.go, v1.37: an uncertain device is mounted again.
func TestADeviceOfAnEarlierLifeIsMountedAgainForItsPod(t *testing.T) {
	w, d := newDeviceWorld(t)
	w.create(pod("one", claim("data")))
	w.settle()
	require.NoError(t, w.e.Crash(actor))
	w.settle()
	require.Equal(t, []string{"MountDevice /global/pv-data", "SetUp", "MountDevice /global/pv-data", "SetUp"}, d.calls)
}

// A pod comes while the device's unmount, decided already, waits for its next attempt.
func TestADeviceThatAPodWantsAgainIsNotUnmounted(t *testing.T) {
	w, d := newDeviceWorld(t)
	w.create(pod("one", claim("data")))
	w.settle()
	d.fail = errors.New("device is busy")
	w.delete("one")
	w.settle()
	require.Equal(t, "UnmountDevice /global/pv-data", d.calls[len(d.calls)-1])
	d.fail = nil
	w.create(pod("two", claim("data")))
	w.settle()
	require.Equal(t, v1.PodRunning, w.get("two").Status.Phase)
	calls := len(d.calls)
	require.NoError(t, w.e.RunFor(10*time.Minute))
	require.Len(t, d.calls, calls)
	require.Equal(t, "SetUp", d.calls[calls-1])
}

func TestWhatNoPluginKnowsIsLeftAloneBeforeAllPodsAreKnown(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", nil)
	p := w.create(pod("web", emptyDir("tmp")))
	w.create(pod("slow", claim("data")))
	w.settle()
	volume := "/var/lib/kubelet/pods/" + string(p.UID) + "/volumes/example.com~unknown/x"
	require.NoError(t, w.node.MkdirAll(volume, 0o755))
	require.NoError(t, w.e.Crash(actor))
	require.NoError(t, w.e.Inject(engine.Fault{Actor: actor, Verb: "get", Resource: "persistentvolumeclaims", Delay: 10 * time.Second}))
	require.NoError(t, w.e.RunFor(5*time.Second))
	_, err := w.node.Stat(volume)
	require.NoError(t, err)
	w.settle()
	_, err = w.node.Stat(volume)
	require.ErrorIs(t, err, fs.ErrNotExist)
}
