package mount_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/internal/unshared"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
)

// foreign is a directory with mounts that no mounter of ours made.
type foreign struct {
	t         *testing.T
	dir, data string
}

// newForeign makes a directory with files of its own, and data, a file system's directory with a file, beside it.
func newForeign(t *testing.T) *foreign {
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	f := &foreign{t, filepath.Join(top, "sim"), filepath.Join(top, "data")}
	for _, dir := range []string{"sim/a/b", "sim/c d", "data/sub"} {
		require.NoError(t, os.MkdirAll(filepath.Join(top, dir), 0o755))
	}
	for _, file := range []string{"sim/a/own", "sim/file", "data/kept", "data/sub/kept"} {
		require.NoError(t, os.WriteFile(filepath.Join(top, file), []byte("kept"), 0o644))
	}
	t.Cleanup(func() { f.unmount() })
	return f
}

// unmount ends all mounts in the directory.
func (f *foreign) unmount() {
	for _, at := range f.mounts() {
		require.NoError(f.t, syscall.Unmount(at, syscall.MNT_DETACH))
	}
}

// mounts returns where something is mounted, the last one first.
func (f *foreign) mounts() (list []string) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(f.t, err)
	for line := range strings.Lines(string(table)) {
		if at := strings.ReplaceAll(strings.Fields(line)[4], `\040`, " "); strings.HasPrefix(at+"/", f.dir+"/") {
			list = append([]string{at}, list...)
		}
	}
	return list
}

func (f *foreign) mount(source, at, fstype string, flags uintptr) {
	f.t.Helper()
	at = filepath.Join(f.dir, at)
	require.NoError(f.t, syscall.Mount(source, at, fstype, flags, ""))
	if flags&syscall.MS_RDONLY != 0 {
		require.NoError(f.t, syscall.Mount("", at, "", flags|syscall.MS_REMOUNT, ""))
	}
}

// requireAllThere fails if a file behind a mount, or one of the directory's own, is gone.
func (f *foreign) requireAllThere() {
	f.t.Helper()
	for _, file := range []string{f.data + "/kept", f.data + "/sub/kept", f.dir + "/a/own", f.dir + "/file"} {
		data, err := os.ReadFile(file)
		require.NoError(f.t, err)
		require.Equal(f.t, "kept", string(data))
	}
}

func TestRemovalNeverGoesThroughAMount(t *testing.T) {
	unshared.Test(t, func(t *testing.T) {
		for name, mounted := range map[string]func(f *foreign){
			"a bind mount of the same file system": func(f *foreign) { f.mount(f.data, "a/b", "", syscall.MS_BIND) },
			"a read-only one":                      func(f *foreign) { f.mount(f.data, "a/b", "", syscall.MS_BIND|syscall.MS_RDONLY) },
			"a mount of one file":                  func(f *foreign) { f.mount(f.data+"/kept", "file", "", syscall.MS_BIND) },
			"a file system in memory":              func(f *foreign) { f.mount("none", "a/b", "tmpfs", 0) },
			"a path with a blank":                  func(f *foreign) { f.mount(f.data, "c d", "", syscall.MS_BIND) },
			"the directory itself":                 func(f *foreign) { f.mount(f.dir, ".", "", syscall.MS_BIND) },
			"one in another": func(f *foreign) {
				f.mount(f.data, "a/b", "", syscall.MS_BIND)
				f.mount(f.dir+"/c d", "a/b/sub", "", syscall.MS_BIND)
			},
			"one on another": func(f *foreign) {
				f.mount(f.data, "a/b", "", syscall.MS_BIND)
				f.mount(f.data+"/sub", "a/b", "", syscall.MS_BIND)
			},
		} {
			t.Run(name, func(t *testing.T) {
				f := newForeign(t)
				mounted(f)
				if name == "a file system in memory" {
					require.NoError(t, os.WriteFile(f.dir+"/a/b/kept", nil, 0o644))
				}
				err := mount.RemoveAll(f.dir)
				var left *mount.MountedError
				require.ErrorAs(t, err, &left)
				require.ErrorIs(t, err, syscall.EBUSY)
				require.Equal(t, f.mounts(), left.Mounts, "the last one is unmounted first")
				require.ErrorContains(t, err, f.dir+" stays: ")
				for _, at := range left.Mounts {
					if strings.Contains(at, " ") {
						at = "'" + at + "'"
					}
					require.ErrorContains(t, err, "umount "+at)
				}
				require.True(t, strings.HasSuffix(err.Error(), " && rm -r "+f.dir), err)
				if name == "a file system in memory" {
					require.FileExists(t, f.dir+"/a/b/kept")
				}
				node, err := disk.Open(filepath.Dir(f.dir))
				require.NoError(t, err)
				require.ErrorIs(t, node.RemoveAll("/sim"), syscall.EBUSY, "a node's disk does the same")
				require.ErrorContains(t, node.RemoveAll("/sim"), "umount ")
				require.NoError(t, node.Close())
				f.unmount()
				f.requireAllThere()
				require.NoError(t, mount.RemoveAll(f.dir))
				require.NoDirExists(t, f.dir)
				require.FileExists(t, f.data+"/sub/kept")
			})
		}
	})
}

func TestRemovalFollowsNoLink(t *testing.T) {
	f := newForeign(t)
	require.NoError(t, os.Symlink(f.data, f.dir+"/a/link"))
	require.NoError(t, os.Symlink(f.data+"/kept", f.dir+"/a/b/link"))
	require.NoError(t, os.Symlink(f.dir, f.dir+"-link"))
	require.NoError(t, mount.RemoveAll(f.dir+"-link"))
	f.requireAllThere()
	require.NoError(t, mount.RemoveAll(f.dir))
	require.NoDirExists(t, f.dir)
	require.FileExists(t, f.data+"/kept")
	require.NoError(t, mount.RemoveAll(f.dir), "what does not exist is removed already")
	require.NoError(t, mount.RemoveAll(f.dir+"/deeper/still"))
}

func TestWhatCannotBeRemovedIsNamed(t *testing.T) {
	unshared.Test(t, func(t *testing.T) {
		f := newForeign(t)
		disk := f.data + "/sub"
		require.NoError(t, syscall.Mount("none", disk, "tmpfs", 0, ""))
		defer func() { require.NoError(t, syscall.Unmount(disk, 0)) }()
		require.NoError(t, os.MkdirAll(disk+"/sim/a", 0o755))
		require.NoError(t, os.WriteFile(disk+"/sim/a/file", nil, 0o644))
		require.NoError(t, syscall.Mount("", disk, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
		err := mount.RemoveAll(disk + "/sim")
		require.ErrorIs(t, err, syscall.EROFS)
		require.ErrorContains(t, err, disk+"/sim")
		var left *mount.MountedError
		require.False(t, errors.As(err, &left))
		require.NoError(t, syscall.Mount("", disk, "", syscall.MS_REMOUNT, ""))
		require.NoError(t, mount.RemoveAll(disk+"/sim"))
		require.NoDirExists(t, disk+"/sim")
	})
}
