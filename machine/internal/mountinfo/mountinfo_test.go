package mountinfo

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The end of the last mount of a file system in memory loses its files; that of any other does not.
func TestMountsWhoseEndWouldLoseFilesAreKept(t *testing.T) {
	table := Table{
		{ID: "1", Device: "8:1", Path: "/"},
		{ID: "2", Device: "0:20", Path: "/tmp", FSType: "tmpfs"},
		{ID: "3", Device: "0:20", Path: "/tmp/sim/a", FSType: "tmpfs"}, // also at /tmp
		{ID: "4", Device: "8:1", Path: "/tmp/sim/b", FSType: "ext4"},
		{ID: "5", Device: "0:30", Path: "/tmp/sim/b/c", FSType: "tmpfs"},
		{ID: "6", Device: "0:40", Path: "/tmp/sim/nfs", FSType: "nfs4"},
		{ID: "7", Device: "0:50", Path: "/tmp/simple", FSType: "tmpfs"},
	}
	require.Equal(t, []string{"6", "5", "4", "3"}, table.In("/tmp/sim").IDs())
	require.Equal(t, []string{"5", "4"}, table.Keep("/tmp/sim", nil).IDs(), "the one that it lies in, too")
	require.Equal(t, []string{"3"}, table.In("/tmp/sim/a").IDs())
	require.Empty(t, table.Keep("/tmp/sim/a", nil))
	require.Equal(t, []string{"6", "5", "4"}, table.Keep("/tmp/sim", []string{"6"}).IDs())
	require.Equal(t, "4", table.Containing("/tmp/sim/b/x").ID)
}
