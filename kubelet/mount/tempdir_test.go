package mount_test

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/kubelet/mount"
	"github.com/storagesim/storagesim/kubelet/nodefs"
)

func newNode(t *testing.T) (*nodefs.Dir, *mount.TempDir) {
	node, err := nodefs.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = node.Close() })
	for _, dir := range []string{"/disk/a", "/disk/b", "/mnt/1", "/mnt/2"} {
		require.NoError(t, node.MkdirAll(dir, 0o755))
	}
	require.NoError(t, node.WriteFile("/disk/file", []byte("x"), 0o644))
	require.NoError(t, node.WriteFile("/mnt/file", nil, 0o600))
	return node, open(t, node)
}

func open(t *testing.T, node *nodefs.Dir) *mount.TempDir {
	m, err := mount.NewTempDir(mount.Config{Dir: node})
	require.NoError(t, err)
	return m
}

func bind(m mount.Interface, source, target string, options ...string) error {
	return m.Mount(source, target, "", append([]string{"bind"}, options...))
}

func TestWhatIsWrittenThroughAMountIsInItsSource(t *testing.T) {
	node, m := newNode(t)
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
	records, err := node.List("/run/mounts")
	require.NoError(t, err)
	require.Empty(t, records)
}

func TestAFileCanBeMountedOnAFile(t *testing.T) {
	node, m := newNode(t)
	require.NoError(t, bind(m, "/disk/file", "/mnt/file"))
	data, err := node.ReadFile("/mnt/file")
	require.NoError(t, err)
	require.Equal(t, "x", string(data))
	require.NoError(t, m.Unmount("/mnt/file"))
	data, err = node.ReadFile("/mnt/file")
	require.NoError(t, err)
	require.Empty(t, data)
}

func TestTheMountTableListsMountsWithTheirOptions(t *testing.T) {
	_, m := newNode(t)
	require.NoError(t, bind(m, "/disk/b", "/mnt/2", "ro", "noatime"))
	require.NoError(t, bind(m, "/disk/a", "/mnt/1"))
	list, err := m.List()
	require.NoError(t, err)
	require.Equal(t, []mount.MountPoint{
		{Device: "/disk/a", Path: "/mnt/1", Type: "none", Opts: []string{"bind"}},
		{Device: "/disk/b", Path: "/mnt/2", Type: "none", Opts: []string{"bind", "ro", "noatime"}},
	}, list)
}

func TestTheMountTableSurvivesTheProcess(t *testing.T) {
	node, m := newNode(t)
	require.NoError(t, bind(m, "/disk/a", "/mnt/1", "ro"))
	before, err := m.List()
	require.NoError(t, err)

	again := open(t, node)
	after, err := again.List()
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.NoError(t, again.Unmount("/mnt/1"))
}

func TestARecordWithoutItsLinkIsNoMount(t *testing.T) {
	node, m := newNode(t)
	require.NoError(t, bind(m, "/disk/a", "/mnt/1"))
	require.NoError(t, node.RemoveAll("/mnt/1"))
	for _, m := range []*mount.TempDir{m, open(t, node)} {
		list, err := m.List()
		require.NoError(t, err)
		require.Empty(t, list)
	}
	_, err := node.Stat("/disk/a")
	require.NoError(t, err)
}

func TestIsMountPointTellsMountsFromDirectoriesAndLinks(t *testing.T) {
	node, m := newNode(t)
	require.NoError(t, bind(m, "/disk/a", "/mnt/1"))
	_, err := node.Symlink("/disk/a", "/mnt/link")
	require.NoError(t, err)
	for file, want := range map[string]bool{"/mnt/1": true, "/mnt/1/": true, "/mnt/2": false, "/mnt/link": false, "/disk/a": false} {
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

func TestMountRefsAreTheOtherMountsOfTheSameDirectory(t *testing.T) {
	node, m := newNode(t)
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

func TestMountsThatCannotBeAreRefusedAndChangeNothing(t *testing.T) {
	node, m := newNode(t)
	require.NoError(t, bind(m, "/disk/a", "/mnt/1"))
	require.NoError(t, node.WriteFile("/mnt/2/something", nil, 0o644))
	require.NoError(t, node.MkdirAll("/mnt/3", 0o755))
	cases := []struct {
		name, source, target, fstype string
		options                      []string
		want                         string
	}{
		{"no source", "/disk/none", "/mnt/3", "", []string{"bind"}, "special device /disk/none"},
		{"no target", "/disk/a", "/mnt/none", "", []string{"bind"}, "no such file"},
		{"not empty", "/disk/a", "/mnt/2", "", []string{"bind"}, "not empty"},
		{"mounted already", "/disk/b", "/mnt/1", "", []string{"bind"}, "mount point already"},
		{"a file on a directory", "/disk/file", "/mnt/3", "", []string{"bind"}, "the other is not"},
		{"a directory on a file", "/disk/a", "/mnt/file", "", []string{"bind"}, "the other is not"},
		{"on a file with something in it", "/mnt/file", "/disk/file", "", []string{"bind"}, "not an empty file"},
		{"on itself", "/mnt/3", "/mnt/3", "", []string{"bind"}, "the same"},
		{"not a bind mount", "server:/share", "/mnt/3", "nfs", nil, "only bind mounts"},
		{"a remount", "/disk/a", "/mnt/1", "", []string{"bind", "remount", "ro"}, "remounting"},
		{"out of the node", "/disk/../..", "/mnt/3", "", []string{"bind"}, "leads out"},
		{"to outside of the node", "/disk/a", "/../mnt", "", []string{"bind"}, "leads out"},
	}
	before, err := m.List()
	require.NoError(t, err)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			require.ErrorContains(t, m.Mount(c.source, c.target, c.fstype, c.options), c.want)
			after, err := m.List()
			require.NoError(t, err)
			require.Equal(t, before, after)
		})
	}
	require.ErrorContains(t, m.Unmount("/mnt/3"), "not mounted")
}

func TestFailuresCanBeInjected(t *testing.T) {
	node, _ := newNode(t)
	broken := errors.New("broken")
	var ops []mount.Op
	m, err := mount.NewTempDir(mount.Config{Dir: node, Fail: func(op mount.Op) error {
		if ops = append(ops, op); len(ops)%2 == 1 {
			return broken
		}
		return nil
	}})
	require.NoError(t, err)
	require.ErrorIs(t, bind(m, "/disk/a", "/mnt/1"), broken)
	require.NoError(t, bind(m, "/disk/a", "/mnt/1"))
	require.ErrorIs(t, m.Unmount("/mnt/1"), broken)
	require.NoError(t, m.Unmount("/mnt/1"))
	require.Equal(t, mount.Op{Verb: "mount", Source: "/disk/a", Target: "/mnt/1", Options: []string{"bind"}}, ops[0])
	require.Equal(t, mount.Op{Verb: "unmount", Target: "/mnt/1"}, ops[3])
}

func TestReadingTheTableChangesNothing(t *testing.T) {
	node, m := newNode(t)
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
	open(t, node) // a mounter that starts puts the table in order
	_, stale, err := mount.Read(node)
	require.NoError(t, err)
	require.Empty(t, stale)
}

func TestATableThatCannotBeReadIsNotTakenForAnEmptyOne(t *testing.T) {
	node, err := nodefs.Open(t.TempDir())
	require.NoError(t, err)
	defer node.Close()
	require.NoError(t, node.Mkdir("/run", 0o755))
	require.NoError(t, node.WriteFile("/run/mounts", nil, 0o644))
	_, err = mount.NewTempDir(mount.Config{Dir: node})
	require.ErrorContains(t, err, "cannot read the mount table")
}

func TestARecordThatWasTamperedWithCanStillBeUnmounted(t *testing.T) {
	node, m := newNode(t)
	require.NoError(t, bind(m, "/disk/a", "/mnt/1"))
	records, err := node.List("/run/mounts")
	require.NoError(t, err)
	hostile := `{"source": "/disk/a", "target": "/mnt/1", "options": null, "mode": 4294967295}`
	require.NoError(t, node.WriteFile("/run/mounts/"+records[0], []byte(hostile), 0o644))
	m = open(t, node)
	require.NoError(t, m.Unmount("/mnt/1"))
	info, err := node.Stat("/mnt/1")
	require.NoError(t, err)
	require.Equal(t, fs.ModeDir|0o777, info.Mode()|0o777)
}

func TestATableThatIsGoneDoesNotKeepAMountFromBeingUndone(t *testing.T) {
	node, m := newNode(t)
	require.NoError(t, bind(m, "/disk/a", "/mnt/1"))
	require.NoError(t, node.RemoveAll("/run"))
	require.NoError(t, m.Unmount("/mnt/1"))
}
