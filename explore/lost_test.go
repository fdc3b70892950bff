package explore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	spec "github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/storagesim/storagesim/csi"
	csidriver "github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/explore"
)

// wipes deletes all disks with each volume.
type wipes struct{ forty }

func (p *wipes) Delete(context.Context, *v1.PersistentVolume) error {
	return errors.Join(p.server.Disk().RemoveAll("/srv"), p.server.Disk().MkdirAll("/srv", 0o755))
}

// The scenario deletes the claim whose disk is gone: at the end nothing is to be seen of it.
func TestADiskThatIsLostBeforeItsClaimGoesIsAFailure(t *testing.T) {
	scenario := func(right bool) func(c *explore.Cluster) {
		return func(c *explore.Cluster) {
			disks := forty{c.AddNFSServer("nas", "/srv")}
			if right {
				c.AddProvisioner("example.com/disks", disks)
			} else {
				c.AddProvisioner("example.com/disks", &wipes{disks})
			}
			c.Apply(diskClass, diskClaim("a"), diskClaim("b"))
			c.Settle()
			c.Delete("pvc/a")
			c.Settle()
			c.Delete("pvc/b")
			c.Settle()
		}
	}
	cfg := explore.Config{Runs: 2, ShrinkRuns: -1}
	_, err := explore.Run(t.Context(), cfg, explore.Scenario(scenario(false)))
	f, ok := errors.AsType[*explore.Failure](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, explore.Reason{Rule: explore.NothingLost, Object: "pvc/default/b"}, f.Reason())
	require.ErrorContains(t, f, "and the backend of example.com/disks does not have that volume")
	require.NotContains(t, f.Story, "deletes pvc default/b")

	cfg.Except = []string{explore.NothingLost}
	_, err = explore.Run(t.Context(), cfg, explore.Scenario(scenario(false)))
	require.NoError(t, err)
	cfg.Except = nil
	_, err = explore.Run(t.Context(), cfg, explore.Scenario(scenario(true)))
	require.NoError(t, err)
}

// forgetful says that it holds no mounts once a call to stage a volume was repeated.
type forgetful struct {
	csi.Inventory
	calls *int
}

func (f forgetful) Holdings() csi.Holdings {
	held := f.Inventory.Holdings()
	if *f.calls > 1 {
		held.Staged = nil
	}
	return held
}

// A driver that answers a repeated NodeStageVolume with OK, and has nothing mounted: the pod runs, and writes to the node's own disk.
func TestAVolumeThatIsSaidToBeStagedAndIsNotIsAFailure(t *testing.T) {
	scenario := explore.Scenario(func(c *explore.Cluster) {
		d, err := csidriver.New(csidriver.Config{})
		c.Must(err)
		calls := 0
		d.Inventory = forgetful{d.Inventory, &calls}
		d.Interceptors = append(d.Interceptors, before(func(req any) error {
			if _, ok := req.(*spec.NodeStageVolumeRequest); ok {
				calls++
			}
			return nil
		}))
		c.InstallCSIDriver(d)
		c.Apply("{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: disks}, provisioner: "+csidriver.Name+"}", diskClaim("a"), diskPod("a"))
		c.Settle()
		c.Delete("pod/a", "pvc/a")
		c.Settle()
	})
	err := explore.Replay(explore.Config{}, "x1;faults=1:kubelet/node-1:NodeStageVolume:csi-lost", scenario)
	f, ok := errors.AsType[*explore.Failure](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, explore.Reason{Rule: explore.NothingLost, Object: "pod/default/a"}, f.Reason())
	require.ErrorContains(t, f, "answered to have staged there, and has not")
}

const diskClass = "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: disks}, provisioner: example.com/disks}"

func diskClaim(name string) string {
	return "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: " + name +
		"}, spec: {accessModes: [ReadWriteOnce], storageClassName: disks, resources: {requests: {storage: 1Gi}}}}"
}

func diskPod(name string) string {
	return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + "}, spec: {terminationGracePeriodSeconds: 1, " +
		`containers: [{name: c, image: busybox, command: [sleep, "100000"], volumeMounts: [{name: v, mountPath: /data}]}], ` +
		"volumes: [{name: v, persistentVolumeClaim: {claimName: " + name + "}}]}}"
}
