package disk_test

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/disk"
)

func TestBelowAPlainDirectoryTheFirstLinksAreNotFollowed(t *testing.T) {
	eachKind(t, belowAPlainDirectoryTheFirstLinksAreNotFollowed)
}

func belowAPlainDirectoryTheFirstLinksAreNotFollowed(t *testing.T, m *machine) {
	d := m.node
	require.NoError(t, d.MkdirAll("/real/one/two/three", 0o755))
	require.NoError(t, d.WriteFile("/real/one/two/file", []byte("x"), 0o644))
	for link, text := range map[string]string{"/a": "real", "/real/link": "one", "/real/one/link": "two", "/real/one/two/link": "three"} {
		require.NoError(t, disk.Plant(d, text, link))
	}
	require.Error(t, d.Plain("relative", 1))
	require.NoError(t, d.Plain("/real", 2))

	for name, op := range map[string]func(dir string) error{
		"mkdir":    func(dir string) error { return d.Mkdir(dir+"/new", 0o755) },
		"mkdirall": func(dir string) error { return d.MkdirAll(dir+"/new/new", 0o755) },
		"makedir":  func(dir string) error { return d.MakeDir(dir+"/new", 0o755) },
		"write":    func(dir string) error { return d.WriteFile(dir+"/new", nil, 0o644) },
		"read":     func(dir string) error { _, err := d.ReadFile(dir + "/file"); return err },
		"readdir":  func(dir string) error { _, err := d.ReadDir(dir); return err },
		"list":     func(dir string) error { return d.WalkUp(dir+"/three", nil) },
		"stat":     func(dir string) error { _, err := d.Stat(dir); return err },
		"lstat":    func(dir string) error { _, err := d.Lstat(dir + "/file"); return err },
		"resolve":  func(dir string) error { _, _, err := d.Resolve(dir); return err },
		"at":       func(dir string) error { return d.At(dir, func(*disk.At) error { return nil }) },
		"symlink":  func(dir string) error { _, err := d.Symlink("/real", dir+"/new"); return err },
		"readlink": func(dir string) error { _, err := d.Readlink(dir + "/link"); return err },
		"from":     func(dir string) error { return d.Rename(dir+"/file", "/real/one/two/new") },
		"to":       func(dir string) error { return d.Rename("/real/one/two/file", dir+"/new") },
		"chmod":    func(dir string) error { return d.Chmod(dir, 0o700) },
		"lchown":   func(dir string) error { return d.Lchown(dir+"/file", -1, 0) },
		"remove":   func(dir string) error { return d.Remove(dir + "/file") },
		"all":      func(dir string) error { return d.RemoveAll(dir + "/three") },
		"handle":   func(dir string) error { _, err := d.Handle(dir); return err },
		"sub":      func(dir string) error { _, err := d.Sub(dir); return err },
		"attach":   func(dir string) error { return d.Attach(dir+"/three", d, false) },
	} {
		for dir, link := range map[string]string{"/real/link/two": "/real/link", "/real/one/link": "/real/one/link"} {
			err := op(dir)
			require.ErrorIs(t, err, disk.ErrThroughLink, name)
			require.ErrorContains(t, err, link+" is a symbolic link, and none is followed there", name)
		}
	}

	for _, name := range []string{"/a/one/two", "/real/one/two/link", "/a/link/two", "/real/missing"} {
		_, err := d.Stat(name)
		require.NotErrorIs(t, err, disk.ErrThroughLink, name)
	}
	text, err := d.Readlink("/real/link")
	require.NoError(t, err, "the link itself")
	require.Equal(t, "one", text)
	require.ErrorIs(t, d.Mkdir("/real/link", 0o755), fs.ErrExist)
	require.NoError(t, d.Remove("/real/link"))
	require.NoError(t, d.RemoveAll("/real/one/link"))
	names, err := d.List("/real/one/two")
	require.NoError(t, err)
	require.Len(t, names, 3, "nothing happened behind the links")

	sub, err := d.Sub("/real")
	require.NoError(t, err)
	t.Cleanup(func() { _ = sub.Close() })
	_, err = sub.Symlink("/one", "/again")
	require.NoError(t, err)
	_, err = sub.Stat("/again/two")
	require.NoError(t, err, "a container goes its own ways")
}
