package disk_test

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/disk"
)

// pipes returns a node with a named pipe /pipe, and a link /link to it.
func pipes(t *testing.T) *disk.Disk {
	t.Helper()
	root := t.TempDir()
	node, err := disk.Open(root)
	require.NoError(t, err)
	t.Cleanup(func() { _ = node.Close() })
	require.NoError(t, syscall.Mkfifo(filepath.Join(root, "pipe"), 0o666))
	_, err = node.Symlink("/pipe", "/link")
	require.NoError(t, err)
	return node
}

func TestANamedPipeIsNeverWaitedFor(t *testing.T) {
	for name, do := range map[string]func(node *disk.Disk, at string) error{
		"Sub":       func(node *disk.Disk, at string) error { _, err := node.Sub(at); return err },
		"Sub below": func(node *disk.Disk, at string) error { _, err := node.Sub(at + "/x"); return err },
		"ReadDir":   func(node *disk.Disk, at string) error { _, err := node.ReadDir(at); return err },
		"List":      func(node *disk.Disk, at string) error { _, err := node.List(at); return err },
		"ReadFile":  func(node *disk.Disk, at string) error { _, err := node.ReadFile(at); return err },
		"WriteFile": func(node *disk.Disk, at string) error { return node.WriteFile(at, []byte("x"), 0o644) },
		"Handle":    func(node *disk.Disk, at string) error { _, err := node.Handle(at); return err },
		"Mkdir":     func(node *disk.Disk, at string) error { return node.Mkdir(at+"/x", 0o755) },
		"MkdirAll":  func(node *disk.Disk, at string) error { return node.MkdirAll(at+"/x/y", 0o755) },
		"At": func(node *disk.Disk, at string) error {
			return node.At(at, func(at *disk.At) error { return at.Mkdir("x", 0o755) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			node := pipes(t)
			for _, at := range []string{"/pipe", "/link"} {
				require.Error(t, do(node, at))
			}
		})
	}
	node := pipes(t)
	_, err := node.Sub("/pipe")
	require.ErrorIs(t, err, syscall.ENOTDIR)
	_, err = node.ReadFile("/pipe")
	require.ErrorIs(t, err, disk.ErrNotRegular)
	require.ErrorIs(t, node.WriteFile("/pipe", nil, 0o644), disk.ErrNotRegular)
	require.NoError(t, node.Chmod("/pipe", 0o600))
	require.NoError(t, node.WalkUp("/", func(string, os.FileInfo) error { return nil }))
	require.NoError(t, node.RemoveAll("/pipe"))
}

// An attacker puts a pipe in a directory's place just when it is opened.
func TestAPipeThatTakesADirectorysPlaceIsNeverWaitedFor(t *testing.T) {
	root := t.TempDir()
	node, err := disk.Open(root)
	require.NoError(t, err)
	defer node.Close()
	at, pipe, dir := filepath.Join(root, "d"), filepath.Join(root, "pipe"), filepath.Join(root, "dir")
	require.NoError(t, syscall.Mkfifo(pipe, 0o666))
	require.NoError(t, os.Mkdir(dir, 0o755))
	var stop atomic.Bool
	swapped := make(chan struct{})
	go func() {
		defer close(swapped)
		for !stop.Load() {
			_ = os.Rename(dir, at)
			_ = os.Rename(at, dir)
			_ = os.Rename(pipe, at)
			_ = os.Rename(at, pipe)
		}
	}()
	opened := 0
	for range 40_000 {
		if sub, err := node.Sub("/d"); err == nil {
			_ = sub.Close()
			opened++
		}
		_, _ = node.ReadDir("/d")
		if f, err := node.Handle("/d"); err == nil {
			_ = f.Close()
		}
	}
	require.Positive(t, opened, "a directory was there, too")
	stop.Store(true)
	<-swapped
}
