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
