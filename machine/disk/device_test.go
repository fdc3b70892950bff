package disk_test

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/disk"
)

func TestABlockDeviceIsAFileOfItsOwnKind(t *testing.T) {
	onBoth(t, func(t *testing.T, d *disk.Disk) {
		require.NoError(t, d.MkdirAll("/dev/disk", 0o755))
		require.NoError(t, d.MakeDevice("/dev/sdb"))
		require.NoError(t, d.MakeDevice("/dev/sdb"), "one that is there stays")
		isDevice := func(d *disk.Disk, name string) {
			t.Helper()
			info, err := d.Stat(name)
			require.NoError(t, err)
			require.Equal(t, fs.ModeDevice, info.Mode().Type())
			require.Zero(t, info.Mode()&fs.ModeSticky)
			again, err := d.Lstat("/dev/sdb")
			require.NoError(t, err)
			require.True(t, disk.SameFile(info, again))
		}
		isDevice(d, "/dev/sdb")
		_, err := d.Symlink("/dev/sdb", "/dev/disk/by-id")
		require.NoError(t, err)
		isDevice(d, "/dev/disk/by-id")
		require.NoError(t, d.Chmod("/dev/sdb", 0o600))
		isDevice(d, "/dev/sdb")
		require.NoError(t, d.WriteFile("/dev/sdb", []byte("data"), 0o644))
		data, err := d.ReadFile("/dev/disk/by-id")
		require.NoError(t, err)
		require.Equal(t, "data", string(data))
		isDevice(d, "/dev/sdb")

		require.NoError(t, d.WriteFile("/dev/file", nil, 0o644))
		require.ErrorIs(t, d.MakeDevice("/dev/file"), fs.ErrExist)
		require.NoError(t, d.Chmod("/dev/file", 0o644|fs.ModeSticky))
		info, err := d.Stat("/dev/file")
		require.NoError(t, err)
		require.True(t, info.Mode().IsRegular(), "Linux ignores the sticky bit of a file")
		require.ErrorIs(t, d.MakeDevice("/none/sdb"), fs.ErrNotExist)
	})
}

func TestAFileSystemOfADeviceIsNamedByWhatTheDeviceBeginsWith(t *testing.T) {
	onBoth(t, func(t *testing.T, d *disk.Disk) {
		require.NoError(t, d.MkdirAll("/dev", 0o755))
		require.NoError(t, d.MakeDevice("/dev/sdb"))
		require.NoError(t, d.WriteFile("/dev/file", nil, 0o644))
		formatted := func() disk.Filesystem {
			t.Helper()
			is, err := d.Formatted("/dev/sdb")
			require.NoError(t, err)
			return is
		}
		require.Zero(t, formatted())
		want := disk.Filesystem{Type: "ext4", ID: "a-1"}
		require.NoError(t, d.Format("/dev/sdb", want))
		require.Equal(t, want, formatted())
		for _, data := range []string{"", "data", "storagesim file system ext4", "storagesim file system ext4 ../../x\n", "storagesim file system ext4 \n"} {
			require.NoError(t, d.WriteFile("/dev/sdb", []byte(data), 0o660))
			require.Zero(t, formatted(), data)
		}
		require.ErrorContains(t, d.Format("/dev/file", want), "block device required")
		_, err := d.Formatted("/dev/file")
		require.ErrorContains(t, err, "block device required")
		_, err = d.Formatted("/dev/none")
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.ErrorIs(t, d.Format("/dev/none", want), fs.ErrNotExist)
	})
}
