package volumemanager

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/engine"
)

func TestAVolumeIsMountedAndUnmountedAndThePodWakesEachTime(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.Settle()
	r.add("pod-1")
	require.False(t, r.vm.ArePopulated("pod-1"))
	r.Settle()
	require.True(t, r.vm.AreMounted("pod-1"))
	require.Equal(t, map[string]MountedVolume{
		"data": {Name: "pv-data", Path: "/var/lib/kubelet/pods/pod-1/volumes/kubernetes.io~local-volume/pv-data"},
	}, r.vm.GetMountedVolumesForPod("pod-1"))
	require.Len(t, r.pods.woken, 2, "its volumes are known, and mounted")

	r.release("pod-1")
	require.False(t, r.vm.WaitForUnmount("pod-1"))
	r.Settle()
	require.True(t, r.vm.WaitForUnmount("pod-1"))
	require.Len(t, r.pods.woken, 3)
	require.NoError(t, r.vm.RemovePodDir("pod-1"))
}

func TestNothingIsUnmountedWhileThePodsAreNotAllKnown(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.add("pod-1")
	r.Settle()
	r.vm.ExpectPod("pod-2")
	r.release("pod-1")
	r.Settle()
	require.False(t, r.vm.WaitForUnmount("pod-1"))
	r.pods.woken = nil
	r.add("pod-2")
	r.Settle()
	require.Contains(t, r.pods.woken, r.pods.pods["pod-1"].UID, "it waited for the other pod")
	require.True(t, r.vm.WaitForUnmount("pod-1"))
	require.True(t, r.vm.AreMounted("pod-2"))
}

func TestAnOperationIsKeptUntilItHasSucceeded(t *testing.T) {
	r := newRig(t, engine.Config{})
	require.NoError(t, r.Engine.Inject(engine.Fault{Actor: actor, Resource: "nodes", Times: 3, Err: errors.New("no answer")}))
	r.add("pod-1")
	require.NoError(t, r.Engine.RunFor(time.Second))
	require.Contains(t, r.vm.operations.pending, "mount pod-1/kubernetes.io/local-volume/pv-data")
	r.release("pod-1")
	r.forget("pod-1")
	require.NoError(t, r.Engine.RunFor(time.Minute))
	require.Empty(t, r.vm.operations.pending, "the retry had nothing to do")

	r.add("pod-2")
	require.NoError(t, r.Engine.RunFor(time.Minute))
	require.True(t, r.vm.AreMounted("pod-2"))
	r.release("pod-2")
	r.Settle()
	require.True(t, r.vm.WaitForUnmount("pod-2"))
	require.Empty(t, r.vm.operations.pending)
}

func TestADirectoryThatAFailedPluginLeavesDeviates(t *testing.T) {
	for left, want := range map[bool]int{false: 0, true: 1} {
		r := newRig(t, engine.Config{})
		r.add("pod-1")
		r.Settle()
		m := r.vm.operations.mounts
		v := m.desired.get(podVolume{volume: "kubernetes.io/local-volume/pv-data", pod: "pod-1"})
		require.NotNil(t, v)
		m.actual.volumes.remove(v.podVolume)
		mounter, err := v.plugin.NewMounter(v.spec, v.about)
		require.NoError(t, err)
		if !left {
			require.NoError(t, r.node.Remove(mounter.GetPath()))
		}
		m.markSetUp(v, mounter, errors.New("no such device"))
		require.Len(t, r.Engine.Trace().Deviations(), want)
	}
}
