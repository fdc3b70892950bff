package removal

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/storagesim/storagesim/internal/unshared"
)

// A driver that runs on may mount after the table of mounts was read. Removal itself stops there, too, and a kernel
// without openat2 does as well.
func TestAMountThatComesDuringTheRemovalIsNotCrossed(t *testing.T) {
	unshared.Test(t, func(t *testing.T) {
		for name, remove := range map[string]func(dir int, base string) error{
			"the whole": removeIn,
			"by the numbers of the mounts": func(dir int, base string) error {
				fd, err := enterByID(dir, base, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC)
				if err != nil {
					return err
				}
				defer unix.Close(fd)
				_, err = enterByID(fd, "a", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC)
				return err
			},
		} {
			t.Run(name, func(t *testing.T) {
				top := t.TempDir()
				data, at := filepath.Join(top, "data"), filepath.Join(top, "sim", "a")
				require.NoError(t, os.MkdirAll(data, 0o755))
				require.NoError(t, os.MkdirAll(at, 0o755))
				require.NoError(t, os.WriteFile(data+"/kept", nil, 0o644))
				require.NoError(t, syscall.Mount(data, at, "", syscall.MS_BIND, ""))
				defer func() { require.NoError(t, syscall.Unmount(at, 0)) }()
				parent, err := os.Open(top)
				require.NoError(t, err)
				defer parent.Close()
				require.ErrorIs(t, remove(int(parent.Fd()), "sim"), syscall.EBUSY)
				require.FileExists(t, data+"/kept")
			})
		}
	})
}

// Without /proc there is no table; each directory is looked at all the same.
func TestWithoutATableOfMountsNoneIsCrossed(t *testing.T) {
	unshared.Test(t, func(t *testing.T) {
		top := t.TempDir()
		data, at := filepath.Join(top, "data"), filepath.Join(top, "sim", "a")
		require.NoError(t, os.MkdirAll(data, 0o755))
		require.NoError(t, os.MkdirAll(at, 0o755))
		require.NoError(t, os.WriteFile(data+"/kept", nil, 0o644))
		require.NoError(t, syscall.Mount(data, at, "", syscall.MS_BIND, ""))
		defer func() { require.NoError(t, syscall.Unmount(at, 0)) }()
		require.NoError(t, syscall.Mount("none", "/proc", "tmpfs", 0, ""))
		defer func() { require.NoError(t, syscall.Unmount("/proc", 0)) }()
		require.ErrorIs(t, Remove(filepath.Join(top, "sim")), syscall.EBUSY)
		require.FileExists(t, data+"/kept")
	})
}
