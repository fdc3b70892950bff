package explain_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/csi/socket"
	"github.com/storagesim/storagesim/storagesimtest"
)

// The kubelet expands a volume when it mounts it, which fails here.
func TestGrowthThatWaitsForAMountHasWhatTheKubeletSaysOfTheMount(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1")})
	c.InstallCSIDriver(driver.Config{})
	c.Apply(csiClass, explainClaim("data", "1Gi", ofCSI))
	c.RunFor(30 * time.Second)
	grow(c, "2Gi")
	c.RunFor(30 * time.Second)
	c.Inject(socket.Fault{Method: "NodeStageVolume", Code: codes.Internal, Message: "no device", Times: -1})
	c.Apply(mountingPod)
	c.RunFor(time.Minute)
	why := c.Explain("pvc/data")
	require.Contains(t, why, "it has 1Gi and asks for 2Gi; the rest is done on node node-1, where pod default/web uses it, "+
		"and the kubelet there said last (FailedMount): MountVolume.MountDevice failed for volume ")
	require.Contains(t, why, "no device")
}
