package mount_test

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
)

// remoteRig is a node's directory on disk, and a share that it can mount.
type remoteRig struct {
	t      *testing.T
	dir    string
	server *disk.Disk
	down   bool
}

func newRemoteRig(t *testing.T) *remoteRig {
	server, err := disk.Open(filepath.Join(t.TempDir(), "server"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Close() })
	require.NoError(t, server.MkdirAll("/share", 0o755))
	require.NoError(t, server.WriteFile("/share/file", []byte("shared"), 0o644))
	return &remoteRig{t: t, dir: filepath.Join(t.TempDir(), "node"), server: server}
}

func (r *remoteRig) remote(fstype, source string) (*disk.Disk, error) {
	if fstype != "nfs" || source != "nas:/share" || r.down {
		return nil, errors.New("mount.nfs: no route to host")
	}
	return r.server.Sub("/share")
}

// boot returns a process that begins to look at the node's directory.
func (r *remoteRig) boot() (*disk.Disk, *mount.TempDir) {
	r.t.Helper()
	node, err := disk.Open(r.dir)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = node.Close() })
	require.NoError(r.t, node.MkdirAll("/mnt/a", 0o755))
	m, err := mount.NewTempDir(mount.Config{Dir: node, Remote: r.remote})
	require.NoError(r.t, err)
	return node, m
}

func TestARemoteMountIsThereAgainInAnotherProcess(t *testing.T) {
	r := newRemoteRig(t)
	node, m := r.boot()
	require.NoError(t, m.Mount("nas:/share", "/mnt/a", "nfs", []string{"ro"}))
	require.NoError(t, node.Close())

	node, m = r.boot()
	data, err := node.ReadFile("/mnt/a/file")
	require.NoError(t, err)
	require.Equal(t, "shared", string(data))
	list, err := m.List()
	require.NoError(t, err)
	require.Equal(t, []mount.MountPoint{{Device: "nas:/share", Path: "/mnt/a", Type: "nfs", Opts: []string{"ro"}}}, list)
	mounted, err := m.IsMountPoint("/mnt/a")
	require.NoError(t, err)
	require.True(t, mounted)
	require.ErrorContains(t, m.Mount("nas:/share", "/mnt/a", "nfs", nil), "is a mount point already")
	require.NoError(t, m.Unmount("/mnt/a"))
	require.Error(t, m.Unmount("/mnt/a"))
	names, err := node.List("/mnt/a")
	require.NoError(t, err)
	require.Empty(t, names)
}

func TestARemoteMountWhoseServerIsGoneIsNoneInAnotherProcess(t *testing.T) {
	r := newRemoteRig(t)
	node, m := r.boot()
	require.NoError(t, m.Mount("nas:/share", "/mnt/a", "nfs", nil))
	require.NoError(t, node.Close())
	r.down = true
	node, m = r.boot()
	list, err := m.List()
	require.NoError(t, err)
	require.Empty(t, list)
	names, err := node.List("/run/mounts")
	require.NoError(t, err)
	require.Empty(t, names, "its record is gone too")
	r.down = false
	require.NoError(t, m.Mount("nas:/share", "/mnt/a", "nfs", nil))
}

func TestRemoteMountsThatCannotBeAreRefusedAndLeaveNothing(t *testing.T) {
	r := newRemoteRig(t)
	node, m := r.boot()
	require.NoError(t, node.WriteFile("/mnt/file", nil, 0o644))
	require.NoError(t, node.MkdirAll("/mnt/full/x", 0o755))
	_, err := node.Symlink("/mnt", "/alias")
	require.NoError(t, err)
	for _, c := range []struct {
		source, target, fstype string
		options                []string
		want                   string
	}{
		{"nas:/other", "/mnt/a", "nfs", nil, "mount failed: exit status 32\nMounting command: mount\nMounting arguments: -t nfs nas:/other /mnt/a\n" +
			"Output: mount.nfs: no route to host"},
		{"nas:/share", "/mnt/a", "nfs", []string{"ro", "hard"}, ""},
		{"nas:/share", "/mnt/none", "nfs", nil, "no such file"},
		{"nas:/share", "/mnt/file", "nfs", nil, "not a directory"},
		{"nas:/share", "/mnt/full", "nfs", nil, "not empty"},
		{"nas:/share", "/alias", "nfs", nil, "symbolic link"},
		{"nas:/share", "/alias/full/x", "nfs", nil, "symbolic link"},
		{"nas:/share", "/../outside", "nfs", nil, "leads out"},
		{"nas:/share", "/mnt/full/x", "nfs", []string{"bind"}, "go with no type"},
		{"nas:/share", "/mnt/full/x", "ext4", nil, "no route"},
	} {
		before, err := m.List()
		require.NoError(t, err)
		err = m.Mount(c.source, c.target, c.fstype, c.options)
		if c.want == "" {
			require.NoError(t, err)
			require.NoError(t, m.Unmount(c.target))
			continue
		}
		require.ErrorContains(t, err, c.want)
		after, err := m.List()
		require.NoError(t, err)
		require.Equal(t, before, after)
		if names, err := node.List("/run/mounts"); err == nil {
			require.Empty(t, names)
		}
	}
}

func TestAFileOfARemoteMountCanBeBindMounted(t *testing.T) {
	r := newRemoteRig(t)
	node, m := r.boot()
	require.NoError(t, node.WriteFile("/mnt/one", nil, 0o640))
	require.NoError(t, m.Mount("nas:/share", "/mnt/a", "nfs", nil))
	require.NoError(t, node.WriteFile("/mnt/a/x", []byte("before"), 0o644))
	require.NoError(t, m.Mount("/mnt/a/x", "/mnt/one", "", []string{"bind"}))
	real, err := node.EvalSymlinks("/mnt/one")
	require.NoError(t, err)
	require.Equal(t, "/mnt/a/x", real)
	require.NoError(t, node.WriteFile(real, []byte("after"), 0o644))
	require.NoError(t, m.Unmount("/mnt/one"))
	data, err := node.ReadFile("/mnt/one")
	require.NoError(t, err)
	require.Empty(t, data, "the mount point is there again")
	data, err = node.ReadFile("/mnt/a/x")
	require.NoError(t, err)
	require.Equal(t, "after", string(data), "and nothing of the file is gone")
	require.NoError(t, m.Unmount("/mnt/a"))
}

// As with a kernel: a bind mount of what is on a remote file system is one more mount of that.
func TestABindMountOfARemoteMountOutlivesItAndIsThereAgainInAnotherProcess(t *testing.T) {
	r := newRemoteRig(t)
	require.NoError(t, r.server.MkdirAll("/share/sub", 0o755))
	node, m := r.boot()
	for _, dir := range []string{"/mnt/b", "/mnt/c", "/mnt/d"} {
		require.NoError(t, node.MkdirAll(dir, 0o755))
	}
	require.NoError(t, m.Mount("nas:/share", "/mnt/a", "nfs", nil))
	require.NoError(t, m.Mount("/mnt/a", "/mnt/b", "", []string{"bind", "ro"}))
	require.NoError(t, m.Mount("/mnt/b/sub", "/mnt/c", "", []string{"bind"}))
	require.ErrorIs(t, node.WriteFile("/mnt/b/x", nil, 0o644), syscall.EROFS)
	require.ErrorIs(t, node.WriteFile("/mnt/c/x", nil, 0o644), syscall.EROFS, "a mount of what is read-only is read-only")
	require.NoError(t, node.WriteFile("/mnt/a/sub/x", []byte("y"), 0o644))
	refs, err := m.GetMountRefs("/mnt/a")
	require.NoError(t, err)
	require.Equal(t, []string{"/mnt/b"}, refs)
	require.ErrorContains(t, m.Mount("/mnt/a/file", "/mnt/d", "", []string{"bind"}), "one of source and target is a directory, the other is not")
	require.NoError(t, m.Unmount("/mnt/a"))
	require.NoError(t, node.Close())

	node, m = r.boot()
	data, err := node.ReadFile("/mnt/c/x")
	require.NoError(t, err)
	require.Equal(t, "y", string(data))
	list, err := m.List()
	require.NoError(t, err)
	require.Equal(t, []mount.MountPoint{
		{Device: "nas:/share", Path: "/mnt/b", Type: "nfs", Opts: []string{"bind", "ro"}},
		{Device: "nas:/share", Path: "/mnt/c", Type: "nfs", Opts: []string{"bind", "ro"}},
	}, list)
	require.NoError(t, m.Unmount("/mnt/b"))
	require.NoError(t, m.Unmount("/mnt/c"))
}
