package kubelet_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/volumetest"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/volume"
)

// slowWorld returns a node whose volumes take three seconds to mount and to unmount, and a
// claim with one.
func slowWorld(t *testing.T) (*world, *volumetest.Slow) {
	t.Helper()
	slow := &volumetest.Slow{Driver: "slow.example.com", Takes: 3 * time.Second}
	w := newWorld(t, engine.Config{}, kubelet.Config{Plugins: func() []volume.VolumePlugin {
		return append(kubelet.DefaultPlugins(), slow.NewPlugin())
	}})
	w.boundVolume("data", func(pv *v1.PersistentVolume) {
		pv.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: slow.Driver, VolumeHandle: "vol-1"}}
	})
	return w, slow
}

func TestAPluginWaitsOnTheVirtualClock(t *testing.T) {
	w, slow := slowWorld(t)
	w.create(pod("one", claim("data")))
	before := w.e.Now()
	w.settle()
	require.Equal(t, v1.PodRunning, w.get("one").Status.Phase)
	require.WithinRange(t, w.e.Now(), before.Add(3*time.Second), before.Add(5*time.Second))
	w.delete("one", 0)
	w.settle()
	require.Equal(t, []string{"SetUpAt began", "SetUpAt ended", "TearDownAt began", "TearDownAt ended"}, slow.Calls)
	w.requireNothingLeft()
}

func TestACrashOfTheKubeletInterruptsAPluginThatWaits(t *testing.T) {
	w, slow := slowWorld(t)
	w.create(pod("one", claim("data")))
	require.NoError(t, w.e.RunFor(2*time.Second))
	require.Equal(t, []string{"SetUpAt began"}, slow.Calls)
	require.NoError(t, w.e.Crash(actor))
	require.NoError(t, w.e.RunFor(2*time.Second))
	require.Equal(t, []string{"SetUpAt began", "SetUpAt began"}, slow.Calls, "the first never ends, the next life begins anew")
	require.Equal(t, v1.PodPending, w.get("one").Status.Phase)
	w.settle()
	require.Equal(t, "SetUpAt ended", slow.Calls[2])
	require.Equal(t, v1.PodRunning, w.get("one").Status.Phase)

	w.delete("one", 0)
	require.NoError(t, w.e.RunFor(2*time.Second))
	require.NoError(t, w.e.Crash(actor))
	w.settle()
	require.Equal(t, []string{"TearDownAt began", "TearDownAt began", "TearDownAt ended"}, slow.Calls[3:])
	w.requireNothingLeft()
}

// What a pod does not want any more is unmounted when it is mounted at last.
func TestAPodThatEndsWhileItsVolumeIsMountedLeavesNothing(t *testing.T) {
	w, slow := slowWorld(t)
	w.create(pod("one", claim("data")))
	require.NoError(t, w.e.RunFor(2*time.Second))
	w.delete("one", 0)
	w.settle()
	require.True(t, w.gone("one"))
	require.Equal(t, []string{"SetUpAt began", "SetUpAt ended", "TearDownAt began", "TearDownAt ended"}, slow.Calls)
	w.requireNothingLeft()
}
