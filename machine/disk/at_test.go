package disk_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/disk"
)

// workAt does everything that can be done at a directory, which is really at name.
func workAt(t *testing.T, node *disk.Disk, dir, name string) {
	t.Helper()
	require.NoError(t, node.At(dir, func(at *disk.At) error {
		require.Equal(t, filepath.Join(name, "made"), at.Path("made"))
		require.NoError(t, at.Mkdir("made", 0o750))
		info, err := at.Lstat("made")
		require.NoError(t, err)
		require.Equal(t, fs.ModeDir|0o750, info.Mode())
		require.ErrorIs(t, at.Mkdir("made", 0o750), fs.ErrExist)

		text, err := at.Symlink("/var/data/file", "link")
		require.NoError(t, err)
		got, err := at.Readlink("link")
		require.NoError(t, err)
		require.Equal(t, text, got)
		info, err = at.Lstat("link")
		require.NoError(t, err)
		require.Equal(t, fs.ModeSymlink, info.Mode()&fs.ModeSymlink)
		_, err = at.Readlink("made")
		require.Error(t, err)

		require.NoError(t, at.Remove("made"))
		require.NoError(t, at.Remove("link"))
		require.ErrorIs(t, at.Remove("link"), fs.ErrNotExist)
		_, err = at.Lstat("link")
		require.ErrorIs(t, err, fs.ErrNotExist)
		return nil
	}))
}

func TestAtADirectory(t *testing.T) { eachKind(t, atADirectory) }

func atADirectory(t *testing.T, m *machine) {
	workAt(t, m.node, "/var/data", "/var/data")
	workAt(t, m.node, "/var/data/", "/var/data")
	workAt(t, m.node, "/", "/")
	m.link("var/data", "short")
	workAt(t, m.node, "/short", "/var/data")
}

func TestAtADirectoryThatIsAttached(t *testing.T) { eachKind(t, atADirectoryThatIsAttached) }

func atADirectoryThatIsAttached(t *testing.T, m *machine) {
	other := m.open(t, "share")
	require.NoError(t, other.Mkdir("/sub", 0o755))
	require.NoError(t, m.node.MkdirAll("/mnt/share", 0o755))
	m.before = m.outside()
	require.NoError(t, m.node.Attach("/mnt/share", other, false))
	workAt(t, m.node, "/mnt/share/sub", "/mnt/share/sub")
	require.NoError(t, m.node.At("/mnt", func(at *disk.At) error {
		require.ErrorIs(t, at.Remove("share"), syscall.EBUSY)
		return nil
	}))
	require.Equal(t, m.before, m.outside())
}

func TestAtTakesNamesOnly(t *testing.T) { eachKind(t, atTakesNamesOnly) }

func atTakesNamesOnly(t *testing.T, m *machine) {
	require.NoError(t, m.node.At("/var/data", func(at *disk.At) error {
		for _, base := range []string{".", "..", "../file", "file/x", "a\x00"} {
			require.ErrorIs(t, at.Remove(base), fs.ErrInvalid)
			require.ErrorIs(t, at.Mkdir(base, 0o755), fs.ErrInvalid)
			_, err := at.Lstat(base)
			require.ErrorIs(t, err, fs.ErrInvalid)
		}
		return nil
	}))
	require.ErrorContains(t, m.node.At("/", func(at *disk.At) error { return at.Remove("") }), "cannot be removed")
	called := false
	err := m.node.At("/none", func(*disk.At) error { called = true; return nil })
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.False(t, called)
}

// Whatever takes the directory's place meanwhile.
func TestAtADirectoryThatIsSwappedForALinkNothingOutsideIsTouched(t *testing.T) {
	m := newMachine(t)
	err := m.node.At("/var/data", func(at *disk.At) error {
		require.NoError(t, os.Rename(filepath.Join(m.dir, "node/var/data"), filepath.Join(m.dir, "node/var/aside")))
		require.NoError(t, os.Symlink(filepath.Join(m.dir, "secret"), filepath.Join(m.dir, "node/var/data")))
		_ = at.Mkdir("made", 0o755)
		return at.Remove("canary")
	})
	require.Error(t, err)
	require.Equal(t, m.before, m.outside())
}

func TestFailuresAtADirectoryAreThoseAskedFor(t *testing.T) {
	eachKind(t, failuresAtADirectoryAreThoseAskedFor)
}

func failuresAtADirectoryAreThoseAskedFor(t *testing.T, m *machine) {
	var asked []string
	m.node.Fail(func(op, name string) error {
		asked = append(asked, op+" "+name)
		if op == "symlink" {
			return syscall.ENOSPC
		}
		return nil
	})
	err := m.node.At("/var/data", func(at *disk.At) error {
		if _, err := at.Lstat("file"); err != nil {
			return err
		}
		_, err := at.Symlink("/var", "link")
		return err
	})
	require.ErrorIs(t, err, syscall.ENOSPC)
	var pathErr *fs.PathError
	require.True(t, errors.As(err, &pathErr))
	require.Equal(t, "/var/data/link", pathErr.Path)
	require.Equal(t, []string{"lstat /var/data/file", "symlink /var/data/link"}, asked)
}

func TestAFileIsReplacedAndNeverMadeBehindALink(t *testing.T) {
	eachKind(t, aFileIsReplacedAndNeverMadeBehindALink)
}

func aFileIsReplacedAndNeverMadeBehindALink(t *testing.T, m *machine) {
	require.NoError(t, m.node.WriteFile("/var/new", []byte("a long first text"), 0o640))
	info, err := m.node.Stat("/var/new")
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o640), info.Mode())
	require.NoError(t, m.node.WriteFile("/var/new", []byte("short"), 0o600))
	data, err := m.node.ReadFile("/var/new")
	require.NoError(t, err)
	require.Equal(t, "short", string(data))
	m.link("../../new", "var/out")
	require.ErrorIs(t, m.node.WriteFile("/var/out", []byte("dead"), 0o600), disk.ErrOutside)
	require.Equal(t, m.before, m.outside())
}
