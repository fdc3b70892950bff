package kubelet_test

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/machine/disk"
)

func TestTwoPodsShareALocalVolume(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", nil)
	one, two := w.create(pod("one", claim("data"))), w.create(pod("two", claim("data")))
	w.settle()
	require.NoError(t, kubelet.WriteFile(w.node, w.runtime, one, "/data/x", []byte("shared")))
	data, err := kubelet.ReadFile(w.node, w.runtime, two, "/data/x")
	require.NoError(t, err)
	require.Equal(t, "shared", string(data))
	w.delete("one")
	w.settle()
	_, err = kubelet.ReadFile(w.node, w.runtime, two, "/data/x")
	require.NoError(t, err)
	w.delete("two")
	w.settle()
	w.requireNothingLeft()
}

// semantics 5 must 4.
func TestAnotherFSGroupIsWarnedAndOwnershipUntouched(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", nil)
	with := func(p *v1.Pod, group int64) *v1.Pod {
		p.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: &group}
		return p
	}
	w.create(with(pod("one", claim("data")), 4242))
	w.settle()
	before, err := w.node.Stat("/disk/data")
	require.NoError(t, err)
	require.Equal(t, fs.ModeDir|fs.ModeSetgid|0o775, before.Mode(), "0755 and the group's rights")
	require.NoError(t, w.node.Chmod("/disk/data", 0o700)) // what another group's turn would undo
	before, err = w.node.Stat("/disk/data")
	require.NoError(t, err)
	w.create(with(pod("two", claim("data")), 4343))
	w.settle()
	after, err := w.node.Stat("/disk/data")
	require.NoError(t, err)
	require.Equal(t, before.Mode(), after.Mode())
	_, had, _ := disk.Owner(before)
	_, has, _ := disk.Owner(after)
	require.Equal(t, had, has, "the group's number")
	require.Equal(t, v1.PodRunning, w.get("two").Status.Phase)
	w.requireEvent("two", "AlreadyMountedVolume", "The requested fsGroup is 4343, but the volume pv-data has GID")
}

func TestAReadOnlyVolumeRefusesThePodsWrites(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", nil)
	p := pod("web", claim("data"))
	p.Spec.Volumes[0].PersistentVolumeClaim.ReadOnly = true
	p = w.create(p)
	w.settle()
	require.ErrorIs(t, kubelet.WriteFile(w.node, w.runtime, p, "/data/x", nil), kubelet.ErrReadOnly)
	require.ErrorIs(t, kubelet.MakeDir(w.node, w.runtime, p, "/data/x", 0o755), kubelet.ErrReadOnly)
	require.Contains(t, w.mounts()[0].Opts, "ro")
}

// A claim that a pod names twice is mounted once, as the last of the two says.
func TestAClaimThatAPodNamesTwiceIsMountedAsTheLastOneSays(t *testing.T) {
	for _, readOnly := range []bool{false, true} {
		w := simple(t)
		w.boundVolume("data", nil)
		p := pod("web", claim("data"))
		p.Spec.Volumes[0].PersistentVolumeClaim.ReadOnly = !readOnly
		again := p.Spec.Volumes[0].DeepCopy()
		again.Name, again.PersistentVolumeClaim.ReadOnly = "again", readOnly
		p.Spec.Volumes = append(p.Spec.Volumes, *again)
		p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, v1.VolumeMount{Name: "again", MountPath: "/again"})
		p = w.create(p)
		w.settle()
		err := kubelet.WriteFile(w.node, w.runtime, p, "/data/x", nil)
		if readOnly {
			require.ErrorIs(t, err, kubelet.ErrReadOnly)
			require.Contains(t, w.mounts()[0].Opts, "ro")
		} else {
			require.NoError(t, err)
			require.NotContains(t, w.mounts()[0].Opts, "ro")
		}
	}
}
