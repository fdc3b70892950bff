package volume_test

import (
	"context"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/internal/rigs/volumetest"
	"github.com/storagesim/storagesim/kubelet/local"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/volume"
)

func localSpec(path string) *volume.Spec {
	return volumetest.PVSpec(v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: path}})
}

// semantics 5 must 2.
func TestSetUpOnAMountedDirectoryDoesNothing(t *testing.T) {
	h := volumetest.NewNode(t)
	m, err := h.MounterOf(local.NewPlugin(), localSpec("/disk"), "a")
	require.NoError(t, err)
	require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{}))
	before, err := h.Mounter.List()
	require.NoError(t, err)
	group := int64(4242)
	require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{FsGroup: &group}))
	after, err := h.Mounter.List()
	require.NoError(t, err)
	require.Equal(t, before, after)
	info, err := h.FS.Stat("/disk")
	require.NoError(t, err)
	require.Zero(t, info.Mode()&fs.ModeSetgid, "no ownership either")
}

func TestTearDownIsDoneWhenNothingIsThereAndNeverDeletesData(t *testing.T) {
	h := volumetest.NewNode(t)
	plugin := local.NewPlugin()
	m, err := h.MounterOf(plugin, localSpec("/disk"), "a")
	require.NoError(t, err)
	require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{}))
	require.NoError(t, h.FS.WriteFile("/disk/keep", nil, 0o644))
	u, err := plugin.NewUnmounter("pv", "a")
	require.NoError(t, err)
	require.Equal(t, m.GetPath(), u.GetPath())
	require.NoError(t, u.TearDown(context.Background()))
	require.NoError(t, u.TearDown(context.Background()), "what is missing is done")
	_, err = h.FS.Stat("/disk/keep")
	require.NoError(t, err)

	// bug 30: a directory that should be an empty mount point, and is not.
	require.NoError(t, h.FS.MkdirAll(u.GetPath(), 0o755))
	require.NoError(t, h.FS.WriteFile(u.GetPath()+"/data", nil, 0o644))
	require.Error(t, u.TearDown(context.Background()))
	_, err = h.FS.Stat(u.GetPath() + "/data")
	require.NoError(t, err)
}

func TestLocalPathsThatCannotBeAreRefused(t *testing.T) {
	h := volumetest.NewNode(t)
	require.NoError(t, h.FS.WriteFile("/file", nil, 0o644))
	for path, want := range map[string]string{
		"": "local volume source is nil or local path is not set", "/none": `path "/none" does not exist`, "/file": "only directory and block device",
	} {
		_, err := h.MounterOf(local.NewPlugin(), localSpec(path), "a")
		require.ErrorContains(t, err, want, "%q", path)
	}
}

func TestALocalVolumeIsReconstructedFromItsDirectory(t *testing.T) {
	plugin := local.NewPlugin()
	require.NoError(t, plugin.Init(volumetest.NewNode(t)))
	rebuilt, err := plugin.ConstructVolumeSpec("pv-1", "/pods/a/volumes/kubernetes.io~local-volume/pv-1")
	require.NoError(t, err)
	require.Equal(t, "pv-1", rebuilt.Spec.Name())
	require.True(t, local.NewPlugin().CanSupport(rebuilt.Spec))
	require.Empty(t, rebuilt.Spec.PersistentVolume.Spec.Local.Path)
}

// semantics 5 must 12.
func TestOnRootMismatchDoesNotWalkAFittingTree(t *testing.T) {
	h := volumetest.NewNode(t)
	require.NoError(t, h.FS.WriteFile("/disk/file", nil, 0o600))
	info, err := h.FS.Stat("/disk")
	require.NoError(t, err)
	_, gid, ok := disk.Owner(info)
	if !ok {
		t.Skip("no groups on this system")
	}
	group, policy := int64(gid), v1.FSGroupChangeOnRootMismatch
	mode := func() fs.FileMode {
		info, err := h.FS.Stat("/disk/file")
		require.NoError(t, err)
		return info.Mode()
	}
	apply := func() {
		require.NoError(t, volume.SetVolumeOwnership(h.FS, "/disk", false, &group, &policy, func(string) {}))
	}
	apply()
	require.Equal(t, fs.FileMode(0o660), mode(), "the root did not fit")
	require.NoError(t, h.FS.Chmod("/disk/file", 0o600))
	apply()
	require.Equal(t, fs.FileMode(0o600), mode(), "the root fits: nobody looks further")
}
