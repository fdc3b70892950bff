package machine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/storagesimtest"
)

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
