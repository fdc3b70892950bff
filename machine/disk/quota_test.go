package disk_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/disk"
)

const block = 4096

func inMemory(t *testing.T) *disk.Disk {
	t.Helper()
	d := disk.InMemory(time.Now)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// onBoth runs a test on both kinds of disks.
func onBoth(t *testing.T, test func(t *testing.T, d *disk.Disk)) {
	t.Run("memory", func(t *testing.T) { test(t, inMemory(t)) })
	t.Run("directory", func(t *testing.T) {
		d, err := disk.Open(t.TempDir())
		require.NoError(t, err)
		t.Cleanup(func() { _ = d.Close() })
		test(t, d)
	})
}

func requireSpace(t *testing.T, d *disk.Disk, name string, want disk.Space) {
	t.Helper()
	space, err := d.Space(name)
	require.NoError(t, err)
	require.Equal(t, want, space, name)
}

func TestWhatCannotHaveLimitsSaysSo(t *testing.T) {
	onBoth(t, func(t *testing.T, d *disk.Disk) {
		require.NoError(t, d.Mkdir("/dir", 0o755))
		require.NoError(t, d.WriteFile("/file", nil, 0o644))
		_, err := d.Space("/dir")
		inMemory := err == nil
		for what, err := range map[string]error{
			"size": d.Limit(disk.Limits{Bytes: 10 * block}), "project": d.SetProject("/dir", 1),
			"limit": d.LimitProject("/", 1, disk.Limits{Bytes: block}),
		} {
			if inMemory {
				require.NoError(t, err, what)
			} else {
				require.ErrorIs(t, err, disk.ErrNoLimits, what)
			}
		}
		require.Error(t, d.SetProject("/dir", 0))
		require.Error(t, d.SetProject("dir", 1))
		require.Error(t, d.LimitProject("/", 0, disk.Limits{}))
		require.Error(t, d.Limit(disk.Limits{Bytes: -1}))
		require.Error(t, d.SetProject("/file", 1))
		require.Error(t, d.SetProject("/none", 1))
	})
}

func TestADiskHoldsNoMoreThanItsSize(t *testing.T) {
	d := inMemory(t)
	requireSpace(t, d, "/", disk.Space{})
	require.NoError(t, d.Limit(disk.Limits{Bytes: 3 * block}))
	require.NoError(t, d.WriteFile("/a", make([]byte, block+1), 0o644))
	requireSpace(t, d, "/a", disk.Space{Bytes: 3 * block, UsedBytes: 2 * block, UsedInodes: 1})

	require.ErrorIs(t, d.WriteFile("/b", make([]byte, 2*block), 0o644), syscall.ENOSPC)
	info, err := d.Stat("/b")
	require.NoError(t, err)
	require.EqualValues(t, block, info.Size(), "what fits is written")
	require.ErrorIs(t, d.AppendFile("/b", []byte("x")), syscall.ENOSPC)
	require.NoError(t, d.AppendFile("/a", make([]byte, block-1)), "the block has space")
	require.ErrorIs(t, d.AppendFile("/a", []byte("x")), syscall.ENOSPC)
	require.NoError(t, d.WriteFile("/empty", nil, 0o644), "a file without data needs no space")

	require.NoError(t, d.WriteFile("/a", []byte("shorter"), 0o644))
	require.NoError(t, d.AppendFile("/b", []byte("x")))
	require.NoError(t, d.Limit(disk.Limits{Bytes: block}))
	requireSpace(t, d, "/", disk.Space{Bytes: block, UsedBytes: 3 * block, UsedInodes: 3})
	require.ErrorIs(t, d.AppendFile("/empty", []byte("x")), syscall.ENOSPC)
	require.NoError(t, d.AppendFile("/a", []byte("in its block")))
	require.NoError(t, d.Limit(disk.Limits{}))
	require.NoError(t, d.AppendFile("/empty", make([]byte, 9*block)))
}

func TestADiskHoldsNoMoreFilesThanItsInodes(t *testing.T) {
	d := inMemory(t)
	require.NoError(t, d.Limit(disk.Limits{Inodes: 3}))
	require.NoError(t, d.Mkdir("/dir", 0o755))
	require.NoError(t, d.WriteFile("/dir/file", []byte("x"), 0o644))
	_, err := d.Symlink("/dir", "/link")
	require.NoError(t, err)
	requireSpace(t, d, "/", disk.Space{Inodes: 3, UsedBytes: block, UsedInodes: 3})
	require.ErrorIs(t, d.Mkdir("/more", 0o755), syscall.ENOSPC)
	require.ErrorIs(t, d.MkdirAll("/more/and/more", 0o755), syscall.ENOSPC)
	require.ErrorIs(t, d.WriteFile("/more", nil, 0o644), syscall.ENOSPC)
	_, err = d.Symlink("/dir", "/more")
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, d.WriteFile("/dir/file", []byte("what is there can be written"), 0o644))
	require.NoError(t, d.RemoveAll("/dir"))
	requireSpace(t, d, "/", disk.Space{Inodes: 3, UsedInodes: 1})
	require.NoError(t, d.MkdirAll("/more/and", 0o755))
}

func TestAProjectHoldsNoMoreThanItsLimitWhereverItsFilesAre(t *testing.T) {
	d := inMemory(t)
	require.NoError(t, d.MkdirAll("/a/below", 0o755))
	require.NoError(t, d.WriteFile("/a/below/early", make([]byte, block), 0o644))
	require.NoError(t, d.MkdirAll("/b", 0o755))
	require.NoError(t, d.Limit(disk.Limits{Bytes: 100 * block}))
	require.NoError(t, d.SetProject("/a", 7))
	require.NoError(t, d.LimitProject("/", 7, disk.Limits{Bytes: 3 * block, Inodes: 5, Soft: 2 * block, Err: syscall.EDQUOT}))
	inProject := disk.Space{Bytes: 2 * block, UsedBytes: block, Inodes: 5, UsedInodes: 3}
	requireSpace(t, d, "/a/below", inProject)
	requireSpace(t, d, "/b", disk.Space{Bytes: 100 * block, UsedBytes: block, UsedInodes: 4})

	require.NoError(t, d.WriteFile("/a/late", make([]byte, 2*block), 0o644), "past the soft limit")
	require.ErrorIs(t, d.AppendFile("/a/below/early", []byte("x")), syscall.EDQUOT)
	require.NoError(t, d.WriteFile("/b/file", make([]byte, 9*block), 0o644), "of no project")
	require.NoError(t, d.Mkdir("/a/below/dir", 0o755))
	require.ErrorIs(t, d.Mkdir("/a/below/dir/more", 0o755), syscall.EDQUOT)

	require.ErrorIs(t, d.Rename("/b/file", "/a/below/dir/file"), syscall.EXDEV)
	require.NoError(t, d.Rename("/a/late", "/b/late"), "it stays the project's")
	requireSpace(t, d, "/b/late", disk.Space{Bytes: 2 * block, UsedBytes: 3 * block, Inodes: 5, UsedInodes: 5})
	require.NoError(t, d.Rename("/b/late", "/a/below/early"), "over another")
	requireSpace(t, d, "/a", disk.Space{Bytes: 2 * block, UsedBytes: 2 * block, Inodes: 5, UsedInodes: 4})

	sub, err := d.Sub("/a/below")
	require.NoError(t, err)
	defer sub.Close()
	require.ErrorIs(t, sub.AppendFile("/early", make([]byte, 2*block)), syscall.EDQUOT, "also for who has mounted it")
	require.NoError(t, d.SetProject("/a", 8))
	require.NoError(t, sub.AppendFile("/early", make([]byte, 2*block)), "another project's now")
	require.NoError(t, d.RemoveAll("/a"))
	require.NoError(t, d.Mkdir("/a", 0o755))
	require.NoError(t, d.SetProject("/a", 7))
	requireSpace(t, d, "/a", disk.Space{Bytes: 2 * block, Inodes: 5, UsedInodes: 1})
}

// The disk may be fuller than the project.
func TestAProjectOnAFullDiskIsFullToo(t *testing.T) {
	d := inMemory(t)
	require.NoError(t, d.Mkdir("/a", 0o755))
	require.NoError(t, d.Limit(disk.Limits{Bytes: block}))
	require.NoError(t, d.SetProject("/a", 7))
	require.NoError(t, d.LimitProject("/a", 7, disk.Limits{Bytes: 9 * block, Err: syscall.EDQUOT}))
	err := d.WriteFile("/a/x", []byte(strings.Repeat("x", 2*block)), 0o644)
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.EqualError(t, err, "write /a/x: no space left on device")
}
