package explain_test

import (
	"context"
	"testing"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/storagesimtest"
)

// What GetCapacity answers may be refused, which only the log of csi-provisioner says.
func TestACapacityThatTheServerRefusesIsNamed(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1")})
	d, err := driver.New(driver.Config{StorageCapacity: true})
	c.Must(err)
	d.Interceptors = append(d.Interceptors, func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		answer, err := handler(ctx, req)
		if a, ok := answer.(*spec.GetCapacityResponse); ok && err == nil {
			a.AvailableCapacity = -1
		}
		return answer, err
	})
	c.InstallCSIDriver(d)
	c.Apply(csiLaterClass, explainClaim("data", "1Gi", ofCSI), mountingPod)
	c.RunFor(time.Minute)
	require.Contains(t, c.Explain("pod/web"), "To do: mend what driver csi.storagesim.io answers to GetCapacity: its CSIStorageCapacity is refused: ")
}

// A driver that is said to publish its capacity, and whose csi-provisioner does not, has room nowhere: nothing is full.
func TestADriverOfWhichNobodyPublishesTheCapacityIsNamed(t *testing.T) {
	for name, test := range map[string]struct {
		publishes bool
		want      string
	}{
		"nothing is published": {false, "To do: nothing publishes how much room driver csi.storagesim.io has: run its csi-provisioner with --enable-capacity " +
			"(EnableCapacity in Go), or set spec.storageCapacity of csidriver/csi.storagesim.io to false."},
		"it is full": {true, "To do: ask for less, or make room on the storage."},
	} {
		t.Run(name, func(t *testing.T) {
			c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1")})
			d, err := driver.New(driver.Config{StorageCapacity: test.publishes, Capacity: 1 << 20})
			c.Must(err)
			yes := true
			d.Spec.StorageCapacity = &yes
			c.InstallCSIDriver(d)
			c.Apply(csiLaterClass, explainClaim("data", "1Gi", ofCSI), mountingPod)
			c.RunFor(time.Minute)
			require.Contains(t, c.Explain("pod/web"), test.want)
		})
	}
}
