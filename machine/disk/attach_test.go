package disk_test

import (
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/disk"
)

// attachedPair returns a node with a share attached at /mnt/share, and the share as
// its server sees it.
func attachedPair(t *testing.T, m *machine, readOnly bool) (node, server *disk.Disk) {
	node, server = m.node, m.open(t, "server")
	require.NoError(t, server.MkdirAll("/export/sub", 0o755))
	require.NoError(t, server.WriteFile("/export/sub/file", []byte("from the server"), 0o644))
	require.NoError(t, server.WriteFile("/secret", []byte("not exported"), 0o644))
	require.NoError(t, node.MkdirAll("/mnt/share", 0o755))
	share, err := server.Sub("/export")
	require.NoError(t, err)
	require.NoError(t, node.Attach("/mnt/share", share, readOnly))
	return node, server
}

func TestWhatIsAttachedIsSeenAtItsPlaceAndNowhereElse(t *testing.T) {
	eachKind(t, whatIsAttachedIsSeenAtItsPlaceAndNowhereElse)
}

func whatIsAttachedIsSeenAtItsPlaceAndNowhereElse(t *testing.T, m *machine) {
	node, server := attachedPair(t, m, false)
	data, err := node.ReadFile("/mnt/share/sub/file")
	require.NoError(t, err)
	require.Equal(t, "from the server", string(data))
	require.NoError(t, node.WriteFile("/mnt/share/new", []byte("from the node"), 0o644))
	data, err = server.ReadFile("/export/new")
	require.NoError(t, err)
	require.Equal(t, "from the node", string(data))
	names, err := node.List("/mnt/share")
	require.NoError(t, err)
	require.Equal(t, []string{"new", "sub/"}, names)
	real, err := node.EvalSymlinks("/mnt/share/sub/file")
	require.NoError(t, err)
	require.Equal(t, "/mnt/share/sub/file", real)
	require.NoError(t, node.Rename("/mnt/share/new", "/mnt/share/sub/moved"))

	for _, from := range []string{"/", "/mnt", "/mnt/share", "/mnt/share/sub"} {
		sub, err := node.Sub(from)
		require.NoError(t, err)
		rel, err := filepath.Rel(from, "/mnt/share/sub/moved")
		require.NoError(t, err)
		data, err := sub.ReadFile("/" + rel)
		require.NoError(t, err, from)
		require.Equal(t, "from the node", string(data))
		require.NoError(t, sub.Close())
	}
	require.True(t, node.Attached("/mnt/share"))
	require.False(t, node.Attached("/mnt/share/sub"))
	require.NoError(t, node.Detach("/mnt/share"))
	names, err = node.List("/mnt/share")
	require.NoError(t, err)
	require.Empty(t, names)
	_, err = server.ReadFile("/export/sub/moved")
	require.NoError(t, err, "the data stays")
}

func TestAnAttachmentProtectsItsPlaceAndItsData(t *testing.T) {
	eachKind(t, anAttachmentProtectsItsPlaceAndItsData)
}

func anAttachmentProtectsItsPlaceAndItsData(t *testing.T, m *machine) {
	node, server := attachedPair(t, m, false)
	for _, name := range []string{"/mnt/share", "/mnt"} {
		require.ErrorIs(t, node.Remove(name), syscall.EBUSY, name)
		require.ErrorIs(t, node.RemoveAll(name), syscall.EBUSY, name)
		require.ErrorIs(t, node.Rename(name, "/elsewhere"), syscall.EBUSY, name)
	}
	require.NoError(t, node.WriteFile("/file", nil, 0o644))
	require.ErrorIs(t, node.Rename("/file", "/mnt/share/file"), syscall.EXDEV)
	var seen []string
	require.NoError(t, node.WalkUp("/mnt", func(name string, _ fs.FileInfo) error {
		seen = append(seen, name)
		return nil
	}))
	require.Equal(t, []string{"/mnt/share", "/mnt"}, seen, "a walk from above does not go in")
	_, err := server.ReadFile("/export/sub/file")
	require.NoError(t, err)
}

func TestAReadOnlyAttachmentChangesNothing(t *testing.T) {
	eachKind(t, aReadOnlyAttachmentChangesNothing)
}

func aReadOnlyAttachmentChangesNothing(t *testing.T, m *machine) {
	node, server := attachedPair(t, m, true)
	for what, err := range map[string]error{
		"write": node.WriteFile("/mnt/share/x", nil, 0o644), "overwrite": node.WriteFile("/mnt/share/sub/file", nil, 0o644),
		"mkdir": node.Mkdir("/mnt/share/x", 0o755), "remove": node.Remove("/mnt/share/sub/file"),
		"removeall": node.RemoveAll("/mnt/share/sub"), "chmod": node.Chmod("/mnt/share/sub", 0o700),
		"lchown": node.Lchown("/mnt/share/sub", -1, 1), "rename": node.Rename("/mnt/share/sub/file", "/mnt/share/x"),
	} {
		require.ErrorIs(t, err, syscall.EROFS, what)
	}
	_, err := node.Symlink("/mnt/share/sub", "/mnt/share/link")
	require.ErrorIs(t, err, syscall.EROFS)
	require.NoError(t, node.MkdirAll("/mnt/share/sub", 0o755), "what is there need not be made")
	data, err := server.ReadFile("/export/sub/file")
	require.NoError(t, err)
	require.Equal(t, "from the server", string(data))
}

func TestALinkDoesNotLeadOutOfWhatIsAttached(t *testing.T) {
	eachKind(t, aLinkDoesNotLeadOutOfWhatIsAttached)
}

func aLinkDoesNotLeadOutOfWhatIsAttached(t *testing.T, m *machine) {
	node, server := attachedPair(t, m, false)
	_, err := server.Symlink("/secret", "/export/out")
	require.NoError(t, err)
	_, err = node.ReadFile("/mnt/share/out")
	require.ErrorIs(t, err, disk.ErrOutside)
	require.ErrorIs(t, node.WriteFile("/mnt/share/out", nil, 0o644), disk.ErrOutside)
	_, err = node.EvalSymlinks("/mnt/share/out")
	require.ErrorIs(t, err, disk.ErrOutside)
}

func TestOnlyAPlainDirectoryCanBeAttachedTo(t *testing.T) {
	eachKind(t, onlyAPlainDirectoryCanBeAttachedTo)
}

func onlyAPlainDirectoryCanBeAttachedTo(t *testing.T, m *machine) {
	node, server := attachedPair(t, m, false)
	require.NoError(t, node.MkdirAll("/real/dir", 0o755))
	_, err := node.Symlink("/real", "/alias")
	require.NoError(t, err)
	require.NoError(t, node.WriteFile("/file", nil, 0o644))
	for name, want := range map[string]string{
		"/alias/dir": "it is really /real/dir", "/alias": "it is really /real", "/file": "not a directory", "/": "cannot be hidden",
		"/mnt/share": "attached already", "/mnt/share/sub": "attached already", "/mnt": "attached already", "/none": "no such file", "relative": "not absolute",
	} {
		require.ErrorContains(t, node.Attach(name, server, false), want, name)
	}
	require.ErrorContains(t, node.Detach("/real"), "nothing is attached")
}
