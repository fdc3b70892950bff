package disk_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/disk"
)

// openHandles returns the number of this process has, where the machine says so.
func openHandles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}

// Whatever is done, and however it fails, nothing stays open.
func TestNothingStaysOpen(t *testing.T) {
	m := newMachine(t)
	m.link("/etc", "out")
	m.link("loop", "loop")
	m.link("var", "short")
	require.NoError(t, m.node.MkdirAll("/pods/a/b", 0o755))
	m.link("../var", "pods/linked")
	require.NoError(t, m.node.Plain("/pods", 1))
	names := []string{"/", "/out", "/out/passwd", "/loop/x", "/var/data", "/var/data/file", "/var/data/file/x", "/short/data", "/pods/a", "/pods/linked/data",
		"/new", "/none/x"}
	chance := rand.New(rand.NewPCG(1, 2))
	pick := func() string { return names[chance.IntN(len(names))] }
	before := openHandles(t)
	for i := range 4_000 {
		switch i % 1_000 {
		case 0:
			m.node.Fail(nil)
		case 500:
			m.node.Fail(func(string, string) error {
				if chance.IntN(3) == 0 {
					return errors.New("broken")
				}
				return nil
			})
		}
		everything(m.node, chance.IntN(14), pick(), pick())
	}
	require.Equal(t, before, openHandles(t))
	m.node.Fail(nil)
	require.Equal(t, m.before, m.outside())
}

// everything does one of the things that can be done, and does not ask how it went.
func everything(d *disk.Disk, what int, name, other string) {
	switch what {
	case 0:
		_ = d.MkdirAll(name, 0o755)
	case 1:
		_ = d.Remove(name)
	case 2:
		_, _ = d.Symlink(other, name)
	case 3:
		_, _ = d.Readlink(name)
	case 4:
		_, _ = d.Stat(name)
	case 5:
		_, _ = d.ReadFile(name)
	case 6:
		_ = d.WriteFile(name, []byte("y"), 0o644)
	case 7:
		_, _ = d.ReadDir(name)
	case 8:
		if sub, err := d.Sub(name); err == nil {
			_, _ = sub.Lstat("/x")
			_ = sub.Close()
		}
	case 9:
		_, _, _ = d.Resolve(name)
	case 10:
		if f, err := d.Handle(name); err == nil {
			_ = f.Close()
		}
	case 11:
		_ = d.At(name, func(at *disk.At) error {
			_, _ = at.Symlink(other, "y")
			_, _ = at.Readlink("y")
			return at.Remove("y")
		})
	case 12:
		func() {
			defer func() { _ = recover() }()
			_ = d.At(name, func(*disk.At) error { panic("a crash") })
		}()
	case 13:
		_ = d.Rename(name, other)
	}
}

func TestAFileThatClaimsToBeHugeIsNotRead(t *testing.T) {
	m := newMachine(t)
	f, err := os.Create(filepath.Join(m.dir, "node/var/sparse"))
	require.NoError(t, err)
	require.NoError(t, f.Truncate(1<<33))
	require.NoError(t, f.Close())
	_, err = m.node.ReadFile("/var/sparse")
	require.ErrorIs(t, err, disk.ErrTooLarge)
	require.EqualError(t, err, "read /var/sparse: file too large; the limit is 64 MiB")
}
