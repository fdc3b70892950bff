package pvcontroller_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/provisioner/openebs"
	"github.com/storagesim/storagesim/storagesimtest"
)

func TestAPodWithAnEphemeralVolumeRuns(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.AddProvisionController(openebs.Controller(openebs.Config{}))
	c.Apply(clustertest.MainStory[0], `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: nginx, volumeMounts: [{name: scratch, mountPath: /scratch}]}]
  volumes:
  - name: scratch
    ephemeral:
      volumeClaimTemplate:
        spec:
          storageClassName: openebs-hostpath
          accessModes: [ReadWriteOnce]
          resources: {requests: {storage: 1Gi}}
`)
	c.Settle()
	require.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase, c.Cluster.Story())
	c.Machine("pod/web").WriteFile("/scratch/x", "here")
	require.Equal(t, "here", c.Machine("node/node-1").ReadFile("/var/openebs/local/"+c.Claim("web-scratch").Spec.VolumeName+"/x"))
	require.Equal(t, c.Pod("web").UID, c.Claim("web-scratch").OwnerReferences[0].UID)

	// The claim and its volume go with the pod.
	c.Delete("pod/web")
	c.Settle()
	_, err := c.Cluster.Claim("web-scratch")
	require.ErrorContains(t, err, "not found")
	require.Empty(t, c.Machine("node/node-1").ListDir("/var/openebs/local"))
	c.RequireNoLeaks()
}

// reclaimedYAML returns a hostPath volume with that policy at /tmp/data, a claim that gets
// it, and a pod that uses it.
func reclaimedYAML(policy string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv}
spec:
  storageClassName: manual
  persistentVolumeReclaimPolicy: %s
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: /tmp/data}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  storageClassName: manual
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
  containers: [{name: web, image: nginx, volumeMounts: [{name: data, mountPath: /data}]}]
`, policy)
}

func TestADeletedHostPathVolumesDirectoryIsDeletedFromTheFirstNode(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(reclaimedYAML("Delete"))
	c.Settle()
	c.Machine("pod/web").WriteFile("/data/x", "secret")
	require.Equal(t, "secret", c.Machine("node/node-1").ReadFile("/tmp/data/x"))
	c.Delete("pod/web", "pvc/data")
	c.Settle()
	_, err := c.Cluster.Volume("pv")
	require.ErrorContains(t, err, "not found")
	require.Empty(t, c.Machine("node/node-1").ListDir("/tmp"))
}

func TestARecycledVolumeIsReallyEmptyForItsNextClaim(t *testing.T) {
	explore.Test(t, explore.Config{Runs: 3, Cluster: storagesim.Config{}, Strategies: []string{explore.Random},
		Except: []string{explore.Liveness, explore.NothingLeaks, explore.PlainRun}}, func(c *explore.Cluster) {
		t := c.T
		c.Apply(reclaimedYAML("Recycle"))
		c.RunFor(time.Minute) // the claim may be looked at before its volume, and then by the next resync
		c.Machine("pod/web").WriteFile("/data/x", "secret")
		c.Delete("pod/web", "pvc/data")
		c.RunFor(time.Minute)
		require.Equal(t, v1.VolumeAvailable, c.Volume("pv").Status.Phase, c.Story())
		require.Empty(t, c.Machine("node/node-1").ListDir("/tmp/data"))
		_, err := c.Cluster.Pod("recycler-for-pv")
		require.ErrorContains(t, err, "not found")
		require.True(t, clustertest.ContainsLine(c.Story(), "persistent-volume-binder", "pv pv", "RecyclerPod", "Recycler pod: Container started"), c.Story())

		c.Apply(reclaimedYAML("Recycle"))
		c.RunFor(time.Minute) // the claim may be looked at before its volume, and then by the next resync
		require.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
		c.RequireNoLeaks()
	})
}
