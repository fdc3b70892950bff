package volume_test

import (
	"io/fs"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/volume"
)

// numbers returns used, capacity and available bytes, and the same of inodes; -1 is unknown.
func numbers(m *volume.Metrics) (list [6]int64) {
	for i, q := range []interface{ Value() int64 }{m.Used, m.Capacity, m.Available, m.InodesUsed, m.Inodes, m.InodesFree} {
		list[i] = q.Value()
	}
	return list
}

func TestADirectoryIsCountedAndAFileSystemSaysHowFullItIs(t *testing.T) {
	node := disk.InMemory(time.Now)
	defer node.Close()
	require.NoError(t, node.MkdirAll("/data/in", 0o755))
	require.NoError(t, node.WriteFile("/data/in/x", make([]byte, disk.BlockSize+1), 0o644))
	require.NoError(t, node.WriteFile("/other", make([]byte, disk.BlockSize), 0o644))
	expect := func(what string, of func(*disk.Disk, string) (*volume.Metrics, error), want [6]int64) {
		t.Helper()
		m, err := of(node, "/data")
		require.NoError(t, err)
		for i := range want {
			if i < 3 {
				want[i] *= disk.BlockSize
			}
		}
		require.Equal(t, want, numbers(m), what)
	}
	const all = disk.DefaultSize / disk.BlockSize
	expect("a disk without a size", volume.MetricsDu, [6]int64{4, all, all - 4, 3, 0, 0})
	expect("a disk without a size", volume.MetricsStatFS, [6]int64{4, all, all - 4, 0, 0, 0})

	space, err := node.Space("/")
	require.NoError(t, err)
	used := space.UsedBytes / disk.BlockSize
	require.NoError(t, node.Limit(disk.Limits{Bytes: 100 * disk.BlockSize, Inodes: 50}))
	expect("a disk with one", volume.MetricsDu, [6]int64{4, 100, 100 - used, 3, 50, 50 - space.UsedInodes})
	expect("a disk with one", volume.MetricsStatFS, [6]int64{used, 100, 100 - used, space.UsedInodes, 50, 50 - space.UsedInodes})

	require.NoError(t, node.SetProject("/data", 7))
	require.NoError(t, node.LimitProject("/data", 7, disk.Limits{Bytes: 2 * disk.BlockSize}))
	project, err := node.Space("/data")
	require.NoError(t, err)
	used = project.UsedBytes / disk.BlockSize
	expect("a project that is too full", volume.MetricsStatFS, [6]int64{used, 2, max(0, 2-used), space.UsedInodes, 50, 50 - space.UsedInodes})
}

func TestWhatCannotBeCountedIsAnError(t *testing.T) {
	node := disk.InMemory(time.Now)
	defer node.Close()
	for name, of := range map[string]func(*disk.Disk, string) (*volume.Metrics, error){
		"du": volume.MetricsDu, "statfs": volume.MetricsStatFS, "block": volume.MetricsBlock,
	} {
		_, err := of(node, "/none")
		require.ErrorIs(t, err, fs.ErrNotExist, name)
	}
	require.NoError(t, node.MkdirAll("/data", 0o755))
	node.Fail(func(op, _ string) error {
		if op == "statfs" {
			return syscall.EIO
		}
		return nil
	})
	_, err := volume.MetricsDu(node, "/data")
	require.ErrorIs(t, err, syscall.EIO)
	require.ErrorContains(t, err, "failed to get FsInfo due to error ")
}

func TestOfADeviceItsSizeIsKnown(t *testing.T) {
	node := disk.InMemory(time.Now)
	defer node.Close()
	require.NoError(t, node.MakeDevice("/dev-x"))
	require.NoError(t, node.WriteFile("/dev-x", make([]byte, 5000), 0o644))
	m, err := volume.MetricsBlock(node, "/dev-x")
	require.NoError(t, err)
	require.EqualValues(t, 5000, m.Capacity.Value())
	require.Nil(t, m.Used)
	require.Nil(t, m.Available)
}
