package machine_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/storagesimtest"
)

// The main story is the same to the byte on both kinds of disks, in order and in other
// orders, and in memory it leaves nothing on this machine.
func TestTheMainStoryIsTheSameOnBothKindsOfDisks(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, seed := range []uint64{0, 1, 2, 3} {
		onDirectories, err := clustertest.PlayMainStory(storagesim.Config{Seed: seed}, nil)
		require.NoError(t, err)
		inMemory, err := clustertest.PlayMainStory(storagesim.Config{Seed: seed, Disks: storagesim.MemoryDisks}, func(c *storagesim.Cluster) error {
			entries, err := os.ReadDir(os.Getenv("TMPDIR"))
			require.Empty(t, entries)
			require.Empty(t, c.Lab().Dir())
			return err
		})
		require.NoError(t, err)
		require.Equal(t, onDirectories, inMemory)
	}
}

func TestADiskIsThatOfAMachine(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{
		Disks: storagesim.MemoryDisks, NFSServers: []storagesim.NFSServer{{Name: nfsServer, Exports: []string{"/srv"}}},
	})
	for machine, dir := range map[string]string{"node/node-1": "/", "nfs/" + nfsServer: "/srv"} {
		disk := c.Machine(machine).Disk()
		info, err := disk.Stat(dir)
		require.NoError(t, err)
		require.True(t, info.IsDir())
	}
	_, err := c.Cluster.Machine("node/node-2").Disk()
	require.ErrorContains(t, err, `"node-2"`)
	_, err = c.Cluster.Machine("node-1").Disk()
	require.ErrorContains(t, err, `"node-1" is not a place for files (did you mean "node/node-1"?)`)
	c.Cluster.Close()
	_, err = c.Cluster.Machine("node/node-1").Disk()
	require.Error(t, err)
}
