package disk_test

import (
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/disk"
)

// full has what is below a directory fail for want of space.
func full(dir string) func(op, name string) error {
	return func(_, name string) error {
		if strings.HasPrefix(name, dir+"/") {
			return syscall.ENOSPC
		}
		return nil
	}
}

// A server's disk is full for the nodes that have mounted it, before and after, however
// they come to it.
func TestAFailingServerFailsForWhoeverHasItAttached(t *testing.T) {
	eachKind(t, aFailingServerFailsForWhoeverHasItAttached)
}

func aFailingServerFailsForWhoeverHasItAttached(t *testing.T, m *machine) {
	node, server := attachedPair(t, m, false)
	early, err := node.Sub("/mnt/share/sub")
	require.NoError(t, err)
	server.Fail(full("/export/sub"))
	late, err := node.Sub("/mnt/share")
	require.NoError(t, err)
	for name, err := range map[string]error{
		"/export/sub/new":    server.WriteFile("/export/sub/new", nil, 0o644),
		"/mnt/share/sub/new": node.WriteFile("/mnt/share/sub/new", nil, 0o644),
		"/new":               early.WriteFile("/new", nil, 0o644),
		"/sub/new":           late.WriteFile("/sub/new", nil, 0o644),
	} {
		require.ErrorIs(t, err, syscall.ENOSPC, name)
		var pathErr *fs.PathError
		require.ErrorAs(t, err, &pathErr)
		require.Equal(t, name, pathErr.Path, "the path that was used")
	}
	require.NoError(t, node.WriteFile("/mnt/share/new", nil, 0o644))
	server.Fail(nil)
	for _, d := range []*disk.Disk{early, late} {
		require.NoError(t, d.WriteFile("/new", nil, 0o644))
		require.NoError(t, d.Close())
	}
}

// A Sub is part of its Disk, also if the Disk began to fail later.
func TestAFailingDirFailsForItsSubs(t *testing.T) { eachKind(t, aFailingDirFailsForItsSubs) }

func aFailingDirFailsForItsSubs(t *testing.T, m *machine) {
	sub, err := m.node.Sub("/var")
	require.NoError(t, err)
	subsub, err := sub.Sub("/data")
	require.NoError(t, err)
	m.node.Fail(full("/var/data"))
	require.ErrorIs(t, sub.WriteFile("/data/new", nil, 0o644), syscall.ENOSPC)
	require.ErrorIs(t, subsub.WriteFile("/new", nil, 0o644), syscall.ENOSPC)
	require.NoError(t, sub.WriteFile("/new", nil, 0o644))
	m.node.Fail(nil)
	require.NoError(t, subsub.WriteFile("/new", nil, 0o644))
	require.NoError(t, subsub.Close())
	require.NoError(t, sub.Close())
}
