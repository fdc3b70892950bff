package openebs_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/provisioner/openebs"
	"github.com/storagesim/storagesim/storagesimtest"
)

// A volume of 8Ki with a hard limit of 16Ki, set by the helper pod's script.
func TestAPodCannotWriteBeyondTheQuotaOfItsVolumeOnADiskInMemory(t *testing.T) {
	for kind, past := range map[string]error{"XFSQuota": syscall.ENOSPC, "EXT4Quota": syscall.EDQUOT} {
		t.Run(kind, func(t *testing.T) {
			c := storagesimtest.New(t, storagesim.Config{
				Disks: storagesim.MemoryDisks,
				Nodes: []storagesim.Node{{Name: "node2", Labels: map[string]string{"kubernetes.io/hostname": "host2"}}},
			})
			c.AddProvisionController(openebs.Controller(openebs.Config{}))
			class := classOptions{settings: "- {name: " + kind + ", enabled: true, data: {softLimitGrace: 0%, hardLimitGrace: 100%}}"}
			c.Apply(class.yaml(), strings.ReplaceAll(clusterClaim, "1Gi", "8Ki"), clusterPod)
			c.Settle()
			c.Machine("pod/web").WriteFile("/data/one", strings.Repeat("x", 12<<10))
			require.ErrorIs(t, c.Cluster.Machine("pod/web").WriteFile("/data/two", string(make([]byte, 8<<10))), past)
			require.Len(t, c.Machine("pod/web").ReadFile("/data/two"), 4<<10, "what fits is written")
			c.Machine("node/node2").WriteFile("/elsewhere", strings.Repeat("x", 1<<20))

			disk := c.Machine("node/node2").Disk()
			space, err := disk.Space("/var/openebs/local/" + c.Claim("data").Spec.VolumeName)
			require.NoError(t, err)
			require.EqualValues(t, 8<<10, space.Bytes, "the soft limit is what df shows")
			require.EqualValues(t, 16<<10, space.UsedBytes)
			c.Delete("pod/web", "pvc/data")
			c.Settle()
			c.RequireNoLeaks()
		})
	}
}
