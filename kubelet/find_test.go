package kubelet

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/kubelet/nodefs"
)

func TestFindEmptiesADirectoryAndNothingElse(t *testing.T) {
	node, err := nodefs.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, node.Close()) })
	require.NoError(t, node.MkdirAll("/volume/deep/er", 0o755))
	require.NoError(t, node.WriteFile("/volume/deep/file", []byte("x"), 0o644))
	require.NoError(t, node.WriteFile("/outside", []byte("x"), 0o644))
	_, err = node.Symlink("/outside", "/volume/link")
	require.NoError(t, err)
	run := func(readOnly bool, argv ...string) error {
		return find(&Process{Argv: argv, node: node, mounts: []containerMount{{ContainerPath: "/scrub", VolumePath: "/volume", ReadOnly: readOnly}}})
	}
	for _, argv := range [][]string{
		{"find"}, {"find", "/scrub"}, {"find", "/scrub", "-delete"}, {"find", "/scrub", "-mindepth", "0", "-delete"},
	} {
		require.ErrorContains(t, run(false, argv...), "this simulation knows only 'find PATH -mindepth 1 -delete'")
	}
	require.ErrorContains(t, run(true, "find", "/scrub", "-mindepth", "1", "-delete"), "read-only file system")
	require.ErrorContains(t, run(false, "find", "/elsewhere", "-mindepth", "1", "-delete"), "in none of the container's volumes")
	require.ErrorContains(t, run(false, "find", "/scrub/missing", "-mindepth", "1", "-delete"), "no such file or directory")

	require.NoError(t, run(false, "find", "/scrub/deep/file", "-mindepth", "1", "-delete"), "nothing is deeper than a file")
	require.NoError(t, run(false, "find", "/scrub", "-mindepth", "1", "-delete"))
	names, err := node.List("/volume")
	require.NoError(t, err)
	require.Empty(t, names)
	_, err = node.ReadFile("/outside")
	require.NoError(t, err, "a link is removed, not followed")
	require.NoError(t, run(false, "find", "/scrub", "-mindepth", "1", "-delete"), "again")
}
