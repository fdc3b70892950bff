package explore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/explore"
)

// inlineManifest is a pod whose spec has a volume of a CSI driver itself, without a claim.
const inlineManifest = `
apiVersion: v1
kind: Pod
metadata: {name: own}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: busybox, command: [sleep, "100000"], volumeMounts: [{name: v, mountPath: /data}]}]
  volumes: [{name: v, csi: {driver: csi.storagesim.io}}]
`

// A driver that stages has a volume of a claim, and one of a pod's own spec, which v1.37 never stages: csi_plugin.go CanDeviceMount. Whether
// the driver is told that the volume is ephemeral (podInfoOnMount) makes no difference.
func TestAVolumeOfAPodsOwnSpecIsNotStaged(t *testing.T) {
	for name, told := range map[string]bool{"told": true, "not told": false} {
		t.Run(name, func(t *testing.T) {
			cfg := explore.Config{Cluster: storagesim.Config{Nodes: storagesim.Nodes("node-1")}, Runs: 30, Strategies: []string{explore.Random}, Upstream: explore.Fail}
			_, err := explore.Run(t.Context(), cfg, explore.Scenario(func(c *explore.Cluster) {
				d, err := driver.New(driver.Config{AnyVolume: true})
				c.Must(err)
				d.Spec.PodInfoOnMount = &told
				d.Spec.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent, storagev1.VolumeLifecycleEphemeral}
				c.InstallCSIDriver(d)
				c.RunFor(5 * time.Second)
				c.Apply(threeManifests)
				c.Settle()
				c.Apply(inlineManifest)
				c.Settle()
				c.RequireRunning("web", "own")
				c.Delete("pod/web", "pod/own", "pvc/data")
				c.Settle()
			}))
			require.NoError(t, err)
		})
	}
}
