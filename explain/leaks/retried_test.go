package leaks_test

import (
	"context"
	"slices"
	"testing"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/csi/socket"
	"github.com/storagesim/storagesim/explain/leaks"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/storagesimtest"
)

// A driver that has unmounted a volume and says so never holds nothing, and nothing is attached: only the kubelet's calls tell. When the driver
// answers, nothing is left.
func TestAVolumeThatIsUnmountedInVainAgainAndAgainIsLeftBehind(t *testing.T) {
	for method, kind := range map[string]leaks.Kind{"NodeUnstageVolume": leaks.Staging, "NodeUnpublishVolume": leaks.Publication} {
		t.Run(method, func(t *testing.T) {
			c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
			c.InstallCSIDriver(driver.Config{NoAttach: true})
			c.Apply(clustertest.CSIManifests)
			c.RunFor(time.Minute)
			c.Inject(socket.Fault{Method: method, After: true, Code: codes.Internal, Message: "not there", Times: -1})
			c.Delete("pod/web")
			c.RunFor(30 * time.Minute)
			found, err := c.Lab().Leaks()
			require.NoError(t, err)
			i := slices.IndexFunc(found, func(l storagesim.Leak) bool { return l.Kind == kind })
			require.GreaterOrEqual(t, i, 0, "%v", found)
			require.Contains(t, found[i].What, "which kubelet/node-1 is still to unmount from ")
			require.Contains(t, found[i].What, method+": Internal: not there")
			c.Lab().ClearFaults()
			c.RunFor(5 * time.Minute)
			c.RequireNoLeaks()
		})
	}
}

func TestAVolumeAttachmentThatCannotBeDetachedSaysWhy(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	c.InstallCSIDriver(driver.Config{})
	c.Apply(clustertest.CSIManifests)
	c.RunFor(time.Minute)
	c.Inject(socket.Fault{Method: "ControllerUnpublishVolume", Code: codes.NotFound, Message: "not attached", Times: -1})
	c.Delete("pod/web")
	c.RunFor(10 * time.Minute)
	found, err := c.Lab().Leaks()
	require.NoError(t, err)
	i := slices.IndexFunc(found, func(l storagesim.Leak) bool { return l.Kind == leaks.Attachment })
	require.GreaterOrEqual(t, i, 0, "%v", found)
	require.Contains(t, found[i].What, "which no pod on node node-1 uses; detaching it fails: rpc error: code = NotFound desc = not attached")
}

// The driver unstages, and leaves a file in the staging directory: the kubelet cannot remove that, and goes on to report the volume in use.
func TestAVolumeAttachmentOfAVolumeThatStaysInUseSaysWhy(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	d, err := driver.New(driver.Config{})
	c.Must(err)
	d.Interceptors = append(d.Interceptors, func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		answer, err := handler(ctx, req)
		if unstage, ok := req.(*spec.NodeUnstageVolumeRequest); ok && err == nil {
			c.Machine("node/node-1").WriteFile(unstage.GetStagingTargetPath()+"/left", "x")
		}
		return answer, err
	})
	c.InstallCSIDriver(d)
	c.Apply(clustertest.CSIManifests)
	c.RunFor(time.Minute)
	c.Delete("pod/web")
	c.RunFor(10 * time.Minute)
	found, err := c.Lab().Leaks()
	require.NoError(t, err)
	i := slices.IndexFunc(found, func(l storagesim.Leak) bool { return l.Kind == leaks.Attachment })
	require.GreaterOrEqual(t, i, 0, "%v", found)
	require.Contains(t, found[i].What, "which no pod on node node-1 uses; the kubelet reports it in use, since it cannot unmount it: UnmountDevice failed")
	require.Contains(t, found[i].What, "directory not empty")
}
