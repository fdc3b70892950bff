package volume_test

import (
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/internal/rigs/volumetest"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/volume"
)

// apply gives the files below dir to a group.
func apply(t *testing.T, h *volumetest.Node, dir string, group int, policy *v1.PodFSGroupChangePolicy) {
	t.Helper()
	gid := int64(group)
	require.NoError(t, volume.SetVolumeOwnership(h.FS, dir, false, &gid, policy, func(string) {}))
}

// Upstream: volume_linux.go changeFilePermission, v1.37.
func TestTheGroupsRightsAreNotAddedThroughALink(t *testing.T) {
	h := volumetest.NewNode(t)
	require.NoError(t, h.FS.WriteFile("/secret", nil, 0o600))
	require.NoError(t, h.FS.WriteFile("/disk/file", nil, 0o600))
	_, err := h.FS.Symlink("/secret", "/disk/link")
	require.NoError(t, err)
	apply(t, h, "/disk", os.Getgid(), nil)
	require.Equal(t, fs.FileMode(0o660), h.Mode("/disk/file"))
	require.Equal(t, fs.FileMode(0o600), h.Mode("/secret"))
}

// Upstream: volume_linux.go requiresPermissionChange, v1.37.
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
			h := volumetest.NewNode(t)
			require.NoError(t, h.FS.WriteFile("/disk/file", nil, 0o600))
			require.NoError(t, h.FS.Chmod("/disk", c.root))
			info, err := h.FS.Stat("/disk")
			require.NoError(t, err)
			_, gid, _ := disk.Owner(info)
			apply(t, h, "/disk", gid+c.group, &policy)
			require.Equal(t, c.want, h.Mode("/disk/file"))
		})
	}
}
