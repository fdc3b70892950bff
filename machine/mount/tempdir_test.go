package mount_test

import (
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
)

func TestUnmountingLeavesNoRecord(t *testing.T) {
	node := newNode(t)
	m := openTempDir(t, node)
	require.NoError(t, bind(m, "/disk/a", "/mnt/1"))
	records, err := node.List("/run/mounts")
	require.NoError(t, err)
	require.Len(t, records, 1)
	require.NoError(t, m.Unmount("/mnt/1"))
	records, err = node.List("/run/mounts")
	require.NoError(t, err)
	require.Empty(t, records)
}

// The package comment says so; the kubelet refuses containers' writes instead.
func TestAReadOnlyLinkDoesNotStopWhoWritesThroughTheNode(t *testing.T) {
	node := newNode(t)
	m := openTempDir(t, node)
	require.NoError(t, bind(m, "/disk/a", "/mnt/1", "ro"))
	require.NoError(t, node.WriteFile("/mnt/1/x", nil, 0o644))
}

func TestARecordWithoutItsLinkIsNoMount(t *testing.T) {
	node := newNode(t)
	m := openTempDir(t, node)
	require.NoError(t, bind(m, "/disk/a", "/mnt/1"))
	require.NoError(t, node.RemoveAll("/mnt/1"))
	for _, m := range []mount.Interface{m, openTempDir(t, node)} {
		list, err := m.List()
		require.NoError(t, err)
		require.Empty(t, list)
	}
	_, err := node.Stat("/disk/a")
	require.NoError(t, err)
}

func TestWithoutPrivilegeNothingIsHidden(t *testing.T) {
	node := newNode(t)
	m := openTempDir(t, node)
	require.NoError(t, bind(m, "/disk/a", "/mnt/1"))
	require.NoError(t, node.WriteFile("/mnt/2/something", nil, 0o644))
	before := places(t, m)
	for _, c := range []struct{ source, target, want string }{
		{"/disk/a", "/mnt/2", "not empty"},
		{"/disk/b", "/mnt/1", "mount point already"},
		{"/mnt/file", "/disk/file", "not an empty file"},
	} {
		require.ErrorContains(t, bind(m, c.source, c.target), c.want)
		require.Equal(t, before, places(t, m))
	}
}

func TestReadingTheTableChangesNothing(t *testing.T) {
	node := newNode(t)
	m := openTempDir(t, node)
	require.NoError(t, bind(m, "/disk/a", "/mnt/1"))
	require.NoError(t, bind(m, "/disk/b", "/mnt/2"))
	require.NoError(t, node.Remove("/mnt/1"))
	for range 2 {
		mounts, stale, err := mount.Read(node)
		require.NoError(t, err)
		require.Equal(t, []mount.MountPoint{{Device: "/disk/b", Path: "/mnt/2", Type: "none", Opts: []string{"bind"}}}, mounts)
		require.Len(t, stale, 1)
		_, err = node.Stat(stale[0])
		require.NoError(t, err)
	}
	openTempDir(t, node) // a mounter that starts puts the table in order
	_, stale, err := mount.Read(node)
	require.NoError(t, err)
	require.Empty(t, stale)
}

func TestATableThatCannotBeReadIsNotTakenForAnEmptyOne(t *testing.T) {
	node, err := disk.Open(t.TempDir())
	require.NoError(t, err)
	defer node.Close()
	require.NoError(t, node.Mkdir("/run", 0o755))
	require.NoError(t, node.WriteFile("/run/mounts", nil, 0o644))
	_, err = mount.NewTempDir(mount.Config{Dir: node})
	require.ErrorContains(t, err, "cannot read the mount table")
}

func TestARecordThatWasTamperedWithCanStillBeUnmounted(t *testing.T) {
	node := newNode(t)
	m := openTempDir(t, node)
	require.NoError(t, bind(m, "/disk/a", "/mnt/1"))
	records, err := node.List("/run/mounts")
	require.NoError(t, err)
	hostile := `{"source": "/disk/a", "target": "/mnt/1", "options": null, "mode": 4294967295}`
	require.NoError(t, node.WriteFile("/run/mounts/"+records[0], []byte(hostile), 0o644))
	m = openTempDir(t, node)
	require.NoError(t, m.Unmount("/mnt/1"))
	info, err := node.Stat("/mnt/1")
	require.NoError(t, err)
	require.Equal(t, fs.ModeDir|0o777, info.Mode()|0o777)
}

func TestATableThatIsGoneDoesNotKeepAMountFromBeingUndone(t *testing.T) {
	node := newNode(t)
	m := openTempDir(t, node)
	require.NoError(t, bind(m, "/disk/a", "/mnt/1"))
	require.NoError(t, node.RemoveAll("/run"))
	require.NoError(t, m.Unmount("/mnt/1"))
}

// A link that cannot be read does not count as no mount: the caller would clean up after it.
func TestALinkThatCannotBeReadIsNoAnswer(t *testing.T) {
	node := newNode(t)
	m := openTempDir(t, node)
	require.NoError(t, bind(m, "/disk/a", "/mnt/1"))
	node.Fail(func(op, _ string) error {
		if op == "readlink" {
			return syscall.EIO
		}
		return nil
	})
	_, err := m.IsMountPoint("/mnt/1")
	require.ErrorIs(t, err, syscall.EIO)
	require.ErrorIs(t, m.Unmount("/mnt/1"), syscall.EIO)
	require.ErrorIs(t, bind(m, "/disk/b", "/mnt/1"), syscall.EIO)
	node.Fail(nil)
	mounted, err := m.IsMountPoint("/mnt/1")
	require.NoError(t, err)
	require.True(t, mounted)
	require.NoError(t, m.Unmount("/mnt/1"))
	mounted, err = m.IsMountPoint("/mnt/1")
	require.NoError(t, err)
	require.False(t, mounted)
}
