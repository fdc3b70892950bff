package disk

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAFileIsDescribedAsOSDescribesIt(t *testing.T) {
	dir := t.TempDir()
	r, err := openRoot(dir)
	require.NoError(t, err)
	defer r.Close()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), []byte("four"), 0o640))
	require.NoError(t, os.Chmod(filepath.Join(dir, "file"), 0o640|os.ModeSetuid))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "dir"), 0o700))
	require.NoError(t, os.Chmod(filepath.Join(dir, "dir"), 0o770|os.ModeSetgid|os.ModeSticky))
	require.NoError(t, os.Symlink("file", filepath.Join(dir, "link")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	for _, name := range []string{"file", "dir", "link", "pipe", "."} {
		for _, look := range []struct {
			fast, slow func(string) (os.FileInfo, error)
		}{{r.Stat, r.Root.Stat}, {r.Lstat, r.Root.Lstat}} {
			fast, err := look.fast(name)
			require.NoError(t, err)
			slow, err := look.slow(name)
			require.NoError(t, err)
			require.Equal(t, slow.Mode(), fast.Mode(), name)
			require.Equal(t, slow.Name(), fast.Name(), name)
			require.Equal(t, slow.Size(), fast.Size(), name)
			require.Equal(t, slow.IsDir(), fast.IsDir(), name)
			require.True(t, slow.ModTime().Equal(fast.ModTime()), name)
			require.Equal(t, links(slow), links(fast), name)
		}
	}
}
