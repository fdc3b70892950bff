package disk_test

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/disk"
)

func TestAFileIsAppendedToWhereItEnds(t *testing.T) {
	d, err := disk.Open(t.TempDir())
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	require.ErrorIs(t, d.AppendFile("/a", []byte("x")), fs.ErrNotExist, "it makes no file")
	require.NoError(t, d.WriteFile("/a", []byte("one "), 0o644))
	require.NoError(t, d.AppendFile("/a", []byte("two")))
	data, err := d.ReadFile("/a")
	require.NoError(t, err)
	require.Equal(t, "one two", string(data))

	require.NoError(t, d.WriteFile("/large", make([]byte, 64<<20-1), 0o644))
	require.NoError(t, d.AppendFile("/large", []byte("x")))
	require.ErrorIs(t, d.AppendFile("/large", []byte("x")), disk.ErrTooLarge)

	_, err = d.Symlink("/../a", "/b")
	require.Error(t, err)
	require.NoError(t, d.Mkdir("/dir", 0o755))
	require.Error(t, d.AppendFile("/dir", []byte("x")))
	require.Error(t, d.AppendFile("/dir/../../a", []byte("x")))
}
