package disk_test

import (
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/disk"
)

func TestASocketIsAFileOfItsOwnKind(t *testing.T) {
	onBoth(t, func(t *testing.T, d *disk.Disk) {
		require.NoError(t, d.MkdirAll("/run", 0o755))
		require.NoError(t, d.MakeSocket("/run/csi.sock"))
		info, err := d.Lstat("/run/csi.sock")
		require.NoError(t, err)
		require.NotZero(t, info.Mode()&fs.ModeSocket)
		require.NoError(t, d.MakeSocket("/run/csi.sock"), "one that is there stays")
		_, err = d.ReadFile("/run/csi.sock")
		require.Error(t, err)
		require.Error(t, d.WriteFile("/run/csi.sock", []byte("x"), 0o644))
		require.NoError(t, d.Remove("/run/csi.sock"))
		require.NoError(t, d.WriteFile("/run/file", nil, 0o644))
		require.ErrorIs(t, d.MakeSocket("/run/file"), syscall.EADDRINUSE)
		require.ErrorIs(t, d.MakeSocket("/none/csi.sock"), fs.ErrNotExist)
	})
}
