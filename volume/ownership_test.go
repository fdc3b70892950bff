package volume_test

import (
	"context"
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/kubelet/emptydir"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/volume"
)

func (h *host) mode(name string) fs.FileMode {
	h.t.Helper()
	info, err := h.node.Stat(name)
	require.NoError(h.t, err)
	return info.Mode()
}

func (h *host) apply(dir string, group int, policy *v1.PodFSGroupChangePolicy) {
	h.t.Helper()
	gid := int64(group)
	require.NoError(h.t, volume.SetVolumeOwnership(h.node, dir, false, &gid, policy, func(string) {}))
}

// Upstream: volume_linux.go changeFilePermission, v1.36.
func TestTheGroupsRightsAreNotAddedThroughALink(t *testing.T) {
	h := newHost(t)
	require.NoError(t, h.node.WriteFile("/secret", nil, 0o600))
	require.NoError(t, h.node.WriteFile("/disk/file", nil, 0o600))
	_, err := h.node.Symlink("/secret", "/disk/link")
	require.NoError(t, err)
	h.apply("/disk", os.Getgid(), nil)
	require.Equal(t, fs.FileMode(0o660), h.mode("/disk/file"))
	require.Equal(t, fs.FileMode(0o600), h.mode("/secret"))
}

// Upstream: volume_linux.go requiresPermissionChange, v1.36.
func TestOnRootMismatchLooksAtTheGroupAndAtTheMode(t *testing.T) {
	policy := v1.FSGroupChangeOnRootMismatch
	for name, c := range map[string]struct {
		group int // more than the root's
		root  fs.FileMode
		want  fs.FileMode
	}{
		"both fit":         {0, fs.ModeSetgid | 0o770, 0o600},
		"another group":    {1, fs.ModeSetgid | 0o770, 0o660},
		"another mode":     {0, fs.ModeSetgid | 0o700, 0o660},
		"no setgid":        {0, 0o770, 0o660},
		"more than needed": {0, fs.ModeSetgid | 0o777, 0o600},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			require.NoError(t, h.node.WriteFile("/disk/file", nil, 0o600))
			require.NoError(t, h.node.Chmod("/disk", c.root))
			info, err := h.node.Stat("/disk")
			require.NoError(t, err)
			_, gid, _ := disk.Owner(info)
			h.apply("/disk", gid+c.group, &policy)
			require.Equal(t, c.want, h.mode("/disk/file"))
		})
	}
}

// Upstream: empty_dir.go SetUpAt, v1.36, which passes no policy on.
func TestAnEmptyDirKnowsNoFSGroupChangePolicy(t *testing.T) {
	h := newHost(t)
	m, err := h.mounter(emptydir.NewPlugin(), volume.NewSpecFromVolume(&v1.Volume{
		Name: "tmp", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}},
	}), "a")
	require.NoError(t, err)
	require.NoError(t, h.node.MkdirAll(m.GetPath(), 0o755))
	require.NoError(t, h.node.Chmod(m.GetPath(), fs.ModeSetgid|0o777))
	require.NoError(t, h.node.WriteFile(m.GetPath()+"/file", nil, 0o600))
	group, policy := int64(os.Getgid()), v1.FSGroupChangeOnRootMismatch
	require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{FsGroup: &group, FSGroupChangePolicy: &policy}))
	require.Equal(t, fs.FileMode(0o660), h.mode(m.GetPath()+"/file"))
}

// A note that a volume is ready, and no directory, or the other way round.
func TestAnEmptyDirIsReadyIfItsDirectoryIsThereToo(t *testing.T) {
	h := newHost(t)
	m, err := h.mounter(emptydir.NewPlugin(), volume.NewSpecFromVolume(&v1.Volume{
		Name: "tmp", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}},
	}), "a")
	require.NoError(t, err)
	notes := "/var/lib/kubelet/pods/a/plugins/kubernetes.io~empty-dir/tmp"
	require.False(t, volume.IsReady(h.node, notes))
	require.NoError(t, h.node.MkdirAll(notes+"/ready", 0o755))
	require.False(t, volume.IsReady(h.node, notes), "a directory is no note")
	require.NoError(t, h.node.Remove(notes+"/ready"))
	require.NoError(t, volume.SetReady(h.node, notes))
	require.True(t, volume.IsReady(h.node, notes))
	require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{}))
	require.Equal(t, fs.ModeDir|0o777, h.mode(m.GetPath()))
	require.NoError(t, h.node.Chmod(m.GetPath(), 0o700))
	require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{}))
	require.Equal(t, fs.ModeDir|0o700, h.mode(m.GetPath()))
	require.NoError(t, h.node.RemoveAll(notes))
	require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{}))
	require.Equal(t, fs.ModeDir|0o777, h.mode(m.GetPath()))
}
