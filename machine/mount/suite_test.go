package mount_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	mountutils "k8s.io/mount-utils"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/internal/unshared"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
)

// opener makes a mounter on a node; called again, the mounter of a new process.
type opener func(t *testing.T, node *disk.Disk) mount.Interface

func openTempDir(t *testing.T, node *disk.Disk) mount.Interface {
	t.Helper()
	m, err := mount.NewTempDir(mount.Config{Dir: node})
	require.NoError(t, err)
	return m
}

func openBind(t *testing.T, node *disk.Disk) mount.Interface {
	t.Helper()
	m, err := mount.NewBind(mount.Config{Dir: node})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.UnmountAll()) }) // before the directory is removed
	return m
}

func TestTempDir(t *testing.T) { suite(t, openTempDir) }

func TestBind(t *testing.T) {
	unshared.Test(t, func(t *testing.T) { suite(t, openBind) })
}

// suite tests what every mounter must do.
func suite(t *testing.T, open opener) {
	for name, test := range map[string]func(*testing.T, *disk.Disk, opener){
		"what is written through a mount is in its source":            writesGoThrough,
		"a file can be mounted on a file":                             filesOnFiles,
		"the mount table lists mounts with their options":             tableLists,
		"the mount table survives the process":                        tableSurvives,
		"IsMountPoint tells mounts from directories and links":        mountPoints,
		"mount refs are the other mounts of the same directory":       mountRefs,
		"mounts that cannot be are refused and change nothing":        refusals,
		"a mount point that is a symbolic link is refused":            linkedMountPoint,
		"a source that a link leads to out of the node is refused":    sourceOutside,
		"a mount reached through a link is the one that it leads to":  throughALink,
		"mount-utils cleans up mount points without touching data":    cleansUp,
		"what is unmounted twice is not mounted":                      unmountedTwice,
		"names with blanks and other oddities are names like any":     oddNames,
		"an unmounted target is as it was and can be mounted on":      unmountRestores,
		"failures are those that are asked for, and nothing happened": injected,
	} {
		t.Run(name, func(t *testing.T) { test(t, newNode(t), open) })
	}
}

func newNode(t *testing.T) *disk.Disk {
	t.Helper()
	node, err := disk.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = node.Close() })
	for _, dir := range []string{"/disk/a", "/disk/b", "/mnt/1", "/mnt/2", "/mnt/3"} {
		require.NoError(t, node.MkdirAll(dir, 0o755))
	}
	require.NoError(t, node.WriteFile("/disk/file", []byte("x"), 0o644))
	require.NoError(t, node.WriteFile("/mnt/file", nil, 0o600))
	return node
}

func bind(m mount.Interface, source, target string, options ...string) error {
	return m.Mount(source, target, "", append([]string{"bind"}, options...))
}

func writesGoThrough(t *testing.T, node *disk.Disk, open opener) {
	m := open(t, node)
	require.NoError(t, bind(m, "/disk/a", "/mnt/1"))
	require.NoError(t, node.WriteFile("/mnt/1/greet", []byte("hello"), 0o644))
	data, err := node.ReadFile("/disk/a/greet")
	require.NoError(t, err)
	require.Equal(t, "hello", string(data))

	require.NoError(t, m.Unmount("/mnt/1"))
	names, err := node.List("/mnt/1")
	require.NoError(t, err)
	require.Empty(t, names, "the empty directory is back")
	_, err = node.ReadFile("/disk/a/greet")
	require.NoError(t, err, "the data stays")
}

func filesOnFiles(t *testing.T, node *disk.Disk, open opener) {
	m := open(t, node)
	require.NoError(t, bind(m, "/disk/file", "/mnt/file"))
	data, err := node.ReadFile("/mnt/file")
	require.NoError(t, err)
	require.Equal(t, "x", string(data))
	require.NoError(t, m.Unmount("/mnt/file"))
	data, err = node.ReadFile("/mnt/file")
	require.NoError(t, err)
	require.Empty(t, data)
}

// places returns "source on target" of a mount table.
func places(t *testing.T, m mount.Interface) []string {
	t.Helper()
	list, err := m.List()
	require.NoError(t, err)
	places := []string{}
	for _, p := range list {
		require.Equal(t, "none", p.Type)
		require.Contains(t, p.Opts, "bind")
		places = append(places, p.Device+" on "+p.Path)
	}
	return places
}

func tableLists(t *testing.T, node *disk.Disk, open opener) {
	m := open(t, node)
	require.Empty(t, places(t, m))
	require.NoError(t, bind(m, "/disk/b", "/mnt/2", "ro", "nosuid"))
	require.NoError(t, bind(m, "/disk/a", "/mnt/1"))
	require.Equal(t, []string{"/disk/a on /mnt/1", "/disk/b on /mnt/2"}, places(t, m))
	list, err := m.List()
	require.NoError(t, err)
	require.NotContains(t, list[0].Opts, "ro")
	require.Contains(t, list[1].Opts, "ro")
	require.Contains(t, list[1].Opts, "nosuid")
}

func tableSurvives(t *testing.T, node *disk.Disk, open opener) {
	require.NoError(t, bind(open(t, node), "/disk/a", "/mnt/1", "ro"))
	again := open(t, node)
	require.Equal(t, []string{"/disk/a on /mnt/1"}, places(t, again))
	require.NoError(t, again.Unmount("/mnt/1"))
	require.Empty(t, places(t, again))
}

func mountPoints(t *testing.T, node *disk.Disk, open opener) {
	m := open(t, node)
	require.NoError(t, bind(m, "/disk/a", "/mnt/1"))
	_, err := node.Symlink("/disk/a", "/mnt/link")
	require.NoError(t, err)
	for file, want := range map[string]bool{
		"/mnt/1": true, "/mnt/1/": true, "/mnt/2": false, "/mnt/link": false, "/disk/a": false, "/mnt/file": false, "/": false,
	} {
		is, err := m.IsMountPoint(file)
		require.NoError(t, err)
		require.Equal(t, want, is, file)
		isNot, err := m.IsLikelyNotMountPoint(file)
		require.NoError(t, err)
		require.Equal(t, !want, isNot, file)
	}
	_, err = m.IsMountPoint("/mnt/none")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func mountRefs(t *testing.T, node *disk.Disk, open opener) {
	m := open(t, node)
	require.NoError(t, bind(m, "/disk/a", "/mnt/1"))
	require.NoError(t, bind(m, "/mnt/1", "/mnt/2"), "mounting a mount mounts what is behind it")
	for pathname, want := range map[string][]string{
		"/disk/a": {"/mnt/1", "/mnt/2"}, "/mnt/1": {"/mnt/2"}, "/mnt/2": {"/mnt/1"}, "/disk/b": nil, "/none": nil,
	} {
		refs, err := m.GetMountRefs(pathname)
		require.NoError(t, err)
		require.Equal(t, want, refs, pathname)
	}
	require.NoError(t, node.WriteFile("/mnt/2/x", nil, 0o644))
	require.NoError(t, m.Unmount("/mnt/1"))
	_, err := node.Stat("/mnt/2/x")
	require.NoError(t, err, "the other mount does not depend on it")
}

func refusals(t *testing.T, node *disk.Disk, open opener) {
	m := open(t, node)
	require.NoError(t, bind(m, "/disk/a", "/mnt/1"))
	before := places(t, m)
	for _, c := range []struct {
		name, source, target, fstype string
		options                      []string
		want                         string
	}{
		{"no source", "/disk/none", "/mnt/3", "", []string{"bind"}, "special device /disk/none"},
		{"no target", "/disk/a", "/mnt/none", "", []string{"bind"}, "no such file"},
		{"a file on a directory", "/disk/file", "/mnt/3", "", []string{"bind"}, "the other is not"},
		{"a directory on a file", "/disk/a", "/mnt/file", "", []string{"bind"}, "the other is not"},
		{"on itself", "/mnt/3", "/mnt/3", "", []string{"bind"}, "the same"},
		{"of a type nobody knows", "server:/share", "/mnt/3", "nfs", nil, "unknown filesystem type 'nfs'"},
		{"a remount", "/disk/a", "/mnt/1", "", []string{"bind", "remount", "ro"}, "remounting"},
		{"no bind mount", "/disk/a", "/mnt/3", "", []string{"ro"}, "only bind mounts"},
		{"out of the node", "/disk/../..", "/mnt/3", "", []string{"bind"}, "leads out"},
		{"to outside of the node", "/disk/a", "/../mnt", "", []string{"bind"}, "leads out"},
	} {
		err := m.Mount(c.source, c.target, c.fstype, c.options)
		require.ErrorContains(t, err, c.want, c.name)
		require.Equal(t, before, places(t, m), c.name)
	}
	require.ErrorContains(t, m.Unmount("/mnt/3"), "not mounted")
	require.ErrorContains(t, m.Unmount("/"), "not mounted")
	require.Error(t, m.Unmount("/mnt/none"))
}

func linkedMountPoint(t *testing.T, node *disk.Disk, open opener) {
	m := open(t, node)
	_, err := node.Symlink("/mnt/3", "/mnt/link")
	require.NoError(t, err)
	require.ErrorContains(t, bind(m, "/disk/a", "/mnt/link"), "the mount point is a symbolic link")
	require.Empty(t, places(t, m))
}

func sourceOutside(t *testing.T, node *disk.Disk, open opener) {
	m := open(t, node)
	_, err := node.Symlink("/", "/mnt/root")
	require.NoError(t, err)
	require.NoError(t, bind(m, "/mnt/root/disk/a", "/mnt/1"), "a link inside of the node is fine")
	for _, at := range []string{"/mnt/1/etc", "/mnt/root/../etc"} {
		require.Error(t, bind(m, at, "/mnt/2"))
	}
	require.Equal(t, []string{"/disk/a on /mnt/1"}, places(t, m))
}

func throughALink(t *testing.T, node *disk.Disk, open opener) {
	m := open(t, node)
	_, err := node.Symlink("/mnt", "/alias")
	require.NoError(t, err)
	require.NoError(t, bind(m, "/disk/a", "/alias/1"))
	require.Equal(t, []string{"/disk/a on /mnt/1"}, places(t, m))
	for _, at := range []string{"/alias/1", "/mnt/1"} {
		is, err := m.IsMountPoint(at)
		require.NoError(t, err)
		require.True(t, is, at)
	}
	require.NoError(t, m.Unmount("/alias/1"))
	require.Empty(t, places(t, m))
}

func cleansUp(t *testing.T, node *disk.Disk, open opener) {
	m := open(t, node)
	require.NoError(t, bind(m, "/disk/a", "/mnt/1"))
	require.NoError(t, node.WriteFile("/mnt/1/keep", []byte("kept"), 0o644))
	var _ mountutils.Interface = m
	require.Error(t, node.Remove("/disk/a"), "it is not empty")
	isNot, err := mountutils.IsNotMountPoint(m, "/mnt/1")
	require.NoError(t, err)
	require.False(t, isNot)
	require.NoError(t, m.Unmount("/mnt/1"))
	require.NoError(t, node.Remove("/mnt/1"), "an empty directory can be removed")
	data, err := node.ReadFile("/disk/a/keep")
	require.NoError(t, err)
	require.Equal(t, "kept", string(data))
}

func unmountedTwice(t *testing.T, node *disk.Disk, open opener) {
	m := open(t, node)
	require.NoError(t, bind(m, "/disk/a", "/mnt/1"))
	require.NoError(t, m.Unmount("/mnt/1"))
	require.ErrorContains(t, m.Unmount("/mnt/1"), "not mounted")
}

func oddNames(t *testing.T, node *disk.Disk, open opener) {
	m := open(t, node)
	want := []string{}
	for _, name := range []string{" ", `a\b c`, "a\tb", "é", "x - y"} {
		require.NoError(t, node.MkdirAll("/disk/"+name, 0o755))
		require.NoError(t, node.MkdirAll("/mnt/"+name, 0o755))
		require.NoError(t, bind(m, "/disk/"+name, "/mnt/"+name))
		want = append(want, "/disk/"+name+" on /mnt/"+name)
	}
	slices.SortFunc(want, func(a, b string) int { // by target
		return slices.Compare([]byte(a[len(a)/2:]), []byte(b[len(b)/2:]))
	})
	require.ElementsMatch(t, want, places(t, m))
	refs, err := m.GetMountRefs("/disk/a\tb")
	require.NoError(t, err)
	require.Equal(t, []string{"/mnt/a\tb"}, refs)
}

func unmountRestores(t *testing.T, node *disk.Disk, open opener) {
	require.NoError(t, node.Chmod("/mnt/1", 0o750))
	m := open(t, node)
	for range 3 {
		require.NoError(t, bind(m, "/disk/a", "/mnt/1"))
		require.NoError(t, m.Unmount("/mnt/1"))
	}
	info, err := node.Lstat("/mnt/1")
	require.NoError(t, err)
	require.Equal(t, fs.ModeDir|0o750, info.Mode())
}

func injected(t *testing.T, node *disk.Disk, open opener) {
	var ops []mount.Op
	var fail error
	real := open(t, node)
	m := mount.Failing(real, func(op mount.Op) error {
		ops = append(ops, op)
		return fail
	})
	fail = errors.New("broken")
	require.ErrorIs(t, bind(m, "/disk/a", "/mnt/1"), fail)
	require.Empty(t, places(t, real))
	fail = nil
	require.NoError(t, bind(m, "/disk/a", "/mnt/1"))
	fail = syscall.EBUSY
	require.ErrorIs(t, m.Unmount("/mnt/1"), syscall.EBUSY)
	require.Len(t, places(t, real), 1)
	fail = syscall.ESTALE
	_, err := m.IsMountPoint("/mnt/1")
	require.True(t, mount.IsCorrupted(err))
	_, err = m.IsLikelyNotMountPoint("/mnt/1")
	require.True(t, mount.IsCorrupted(err))
	_, err = m.GetMountRefs("/mnt/1")
	require.True(t, mount.IsCorrupted(err))
	fail = nil
	require.NoError(t, m.Unmount("/mnt/1"))

	require.Equal(t, mount.Op{Verb: mount.VerbMount, Source: "/disk/a", Target: "/mnt/1", Options: []string{"bind"}}, ops[0])
	require.Equal(t, mount.Op{Verb: mount.VerbUnmount, Target: "/mnt/1"}, ops[2])
	require.Equal(t, mount.Op{Verb: mount.VerbLook, Target: "/mnt/1"}, ops[3])
	for _, f := range []func() error{
		func() error { return m.MountSensitive("/disk/a", "/mnt/2", "", []string{"bind"}, nil) },
		func() error { return m.MountSensitiveWithoutSystemd("/disk/a", "/mnt/2", "", []string{"bind"}, nil) },
		func() error {
			return m.MountSensitiveWithoutSystemdWithMountFlags("/disk/a", "/mnt/2", "", []string{"bind"}, nil, nil)
		},
	} {
		fail = errors.New("broken")
		require.ErrorIs(t, f(), fail)
		fail = nil
		require.NoError(t, f())
		require.NoError(t, m.Unmount("/mnt/2"))
	}
}

// machine returns the directory of this machine that is the node's "/".
func machine(t *testing.T, node *disk.Disk) string {
	t.Helper()
	f, err := node.Handle("/")
	require.NoError(t, err)
	defer f.Close()
	return filepath.Clean(f.Name())
}
