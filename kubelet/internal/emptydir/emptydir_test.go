package emptydir_test

import (
	"context"
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagesim/storagesim/internal/rigs/volumetest"
	"github.com/storagesim/storagesim/kubelet/internal/emptydir"
	"github.com/storagesim/storagesim/volume"
)

func TestAnEmptyDirOfAMediumThatItCannotGiveIsRefused(t *testing.T) {
	limit := resource.MustParse("1Gi")
	setUp := func(source v1.EmptyDirVolumeSource) error {
		h := volumetest.NewNode(t)
		m, err := h.MounterOf(emptydir.NewPlugin(), volumetest.PodSpec("tmp", v1.VolumeSource{EmptyDir: &source}), "a")
		require.NoError(t, err)
		if err := m.SetUp(context.Background(), volume.MounterArgs{}); err != nil {
			return err
		}
		require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{}), "again")
		info, err := h.FS.Stat(m.GetPath())
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o777), info.Mode().Perm())
		return nil
	}
	require.NoError(t, setUp(v1.EmptyDirVolumeSource{}))
	require.NoError(t, setUp(v1.EmptyDirVolumeSource{Medium: v1.StorageMediumMemory, SizeLimit: &limit}))
	require.ErrorContains(t, setUp(v1.EmptyDirVolumeSource{Medium: "HugePages-2Mi"}), `storage medium "HugePages-2Mi" is not supported`)
	require.EqualError(t, setUp(v1.EmptyDirVolumeSource{Medium: "Tape"}), `unknown storage medium "Tape"`)
}

// Upstream: empty_dir.go SetUpAt, v1.37, which passes no policy on.
func TestAnEmptyDirKnowsNoFSGroupChangePolicy(t *testing.T) {
	h := volumetest.NewNode(t)
	m, err := h.MounterOf(emptydir.NewPlugin(), volumetest.PodSpec("tmp", v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}), "a")
	require.NoError(t, err)
	require.NoError(t, h.FS.MkdirAll(m.GetPath(), 0o755))
	require.NoError(t, h.FS.Chmod(m.GetPath(), fs.ModeSetgid|0o777))
	require.NoError(t, h.FS.WriteFile(m.GetPath()+"/file", nil, 0o600))
	group, policy := int64(os.Getgid()), v1.FSGroupChangeOnRootMismatch
	require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{FsGroup: &group, FSGroupChangePolicy: &policy}))
	require.Equal(t, fs.FileMode(0o660), h.Mode(m.GetPath()+"/file"))
}

// A note that a volume is ready, and no directory, or the other way round.
func TestAnEmptyDirIsReadyIfItsDirectoryIsThereToo(t *testing.T) {
	h := volumetest.NewNode(t)
	m, err := h.MounterOf(emptydir.NewPlugin(), volumetest.PodSpec("tmp", v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}), "a")
	require.NoError(t, err)
	notes := "/var/lib/kubelet/pods/a/plugins/kubernetes.io~empty-dir/tmp"
	require.False(t, volume.IsReady(h.FS, notes))
	require.NoError(t, h.FS.MkdirAll(notes+"/ready", 0o755))
	require.False(t, volume.IsReady(h.FS, notes), "a directory is no note")
	require.NoError(t, h.FS.Remove(notes+"/ready"))
	require.NoError(t, volume.SetReady(h.FS, notes))
	require.True(t, volume.IsReady(h.FS, notes))
	require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{}))
	require.Equal(t, fs.ModeDir|0o777, h.Mode(m.GetPath()))
	require.NoError(t, h.FS.Chmod(m.GetPath(), 0o700))
	require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{}))
	require.Equal(t, fs.ModeDir|0o700, h.Mode(m.GetPath()))
	require.NoError(t, h.FS.RemoveAll(notes))
	require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{}))
	require.Equal(t, fs.ModeDir|0o777, h.Mode(m.GetPath()))
}
