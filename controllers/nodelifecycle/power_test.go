package nodelifecycle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/internal/drain"
	"github.com/storagesim/storagesim/storagesimtest"
)

// mounted returns a cluster of two nodes and the reference driver, with a pod on node-1 that has a
// volume of the driver and a local one, and writes a file on each when it starts.
func mounted(t *testing.T, seed uint64) *storagesimtest.Cluster {
	t.Helper()
	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2"), Disks: storagesim.MemoryDisks, Seed: seed})
	c.InstallCSIDriver(driver.Config{})
	c.Machine("node/node-1").MakeDir("/data/disk", 0o755)
	c.Apply(movable, `
apiVersion: v1
kind: PersistentVolume
metadata: {name: here}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  local: {path: /data/disk}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [node-1]}]}]}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: here}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", volumeName: here, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: c, image: busybox, volumeMounts: [{name: a, mountPath: /a}, {name: b, mountPath: /b}]}]
  volumes: [{name: a, persistentVolumeClaim: {claimName: data}}, {name: b, persistentVolumeClaim: {claimName: here}}]
`)
	c.RunFor(30 * time.Second)
	c.RequireRunning("web")
	return c
}

// movable is a class of the reference driver and a claim.
const movable = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: csi}
provisioner: csi.storagesim.io
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: csi, resources: {requests: {storage: 1Gi}}}
`

func TestAMachineThatIsSwitchedOffLosesItsMountsAndContainersAndKeepsItsDisk(t *testing.T) {
	for seed := range uint64(8) {
		c := mounted(t, seed)
		mounts := func() []string {
			names := c.Machine("node/node-1").ListDir("/run/mounts")
			return names
		}
		assert.Len(t, mounts(), 3, "the local volume, and that of the driver, staged and published")
		c.Machine("node/node-1").WriteFile("/data/disk/file", "kept")

		c.Stop("node/node-1")
		assert.Empty(t, mounts())
		assert.ErrorContains(t, c.Cluster.Stop("node/node-1"), `node "node-1" is switched off already`)
		assert.ErrorContains(t, c.Cluster.Start("node/node-2"), `node "node-2" is not switched off`)
		assert.ErrorContains(t, c.Cluster.Stop("node/node-3"), `no node is called "node-3" (did you mean "node-1"?); expected one of node-1, node-2`)
		c.RunFor(time.Minute)
		assert.Equal(t, v1.ConditionUnknown, statuses(node(t, c, "node-1"))[v1.NodeReady])

		c.Start("node/node-1")
		c.RunFor(time.Minute)
		c.RequireRunning("web")
		container := c.Pod("web").Status.ContainerStatuses[0]
		assert.EqualValues(t, 1, container.RestartCount)
		require.NotNil(t, container.LastTerminationState.Terminated)
		assert.EqualValues(t, 255, container.LastTerminationState.Terminated.ExitCode)
		assert.Equal(t, "Unknown", container.LastTerminationState.Terminated.Reason)
		assert.Len(t, mounts(), 3)
		assert.Equal(t, "kept", c.Machine("node/node-1").ReadFile("/data/disk/file"))
		c.Delete("pod/web", "pvc/data", "pvc/here", "pv/here")
		c.RunFor(5 * time.Minute)
		c.RequireNoLeaks()
	}
}

func TestAKubeletThatWasStoppedBeforeItsMachineStartsWithIt(t *testing.T) {
	c := mounted(t, 0)
	c.Stop(kubelet1)
	c.Stop("node/node-1")
	c.Start("node/node-1")
	c.RunFor(time.Minute)
	assert.Empty(t, c.Engine().Down())
	assert.Equal(t, v1.ConditionTrue, statuses(node(t, c, "node-1"))[v1.NodeReady])
}

func TestADriverThatIsInstalledWhileAMachineIsOffStartsThereWithTheMachine(t *testing.T) {
	c := failing(t, 0)
	c.Stop("node/node-1")
	c.InstallCSIDriver(driver.Config{})
	c.RunFor(10 * time.Second)
	drivers := func() int {
		node, err := c.Client().StorageV1().CSINodes().Get(t.Context(), "node-1", metav1.GetOptions{})
		require.NoError(t, err)
		return len(node.Spec.Drivers)
	}
	assert.Zero(t, drivers())
	c.Start("node/node-1")
	c.RunFor(10 * time.Second)
	assert.Equal(t, 1, drivers())
}

func TestDrainEvictsAllPodsOrNone(t *testing.T) {
	c := failing(t, 0)
	c.Apply(podOn("scratch", "node-1", "  volumes: [{name: s, emptyDir: {}}]\n"), podOn("other", "node-2", ""))
	c.Settle()
	_, err := drain.Node(t.Context(), c.Client(), "node-1", drain.Options{})
	assert.EqualError(t, err, "[cannot delete Pods that declare no controller (use --force to override): default/web, "+
		"cannot delete Pods with local storage (use --delete-emptydir-data to override): default/scratch]")
	assert.True(t, node(t, c, "node-1").Spec.Unschedulable)
	assert.Nil(t, c.Pod("web").DeletionTimestamp)

	soon := int64(5)
	done, err := drain.Node(t.Context(), c.Client(), "node-1", drain.Options{Force: true, DeleteEmptyDirData: true, GracePeriod: &soon})
	require.NoError(t, err)
	assert.Equal(t, []string{"default/scratch", "default/web"}, done.Evicted)
	assert.Equal(t, []string{"deleting Pods that declare no controller: default/scratch, default/web"}, done.Warnings)
	assert.EqualValues(t, 5, *c.Pod("web").DeletionGracePeriodSeconds)
	c.Settle()
	assert.True(t, gone(t, c, "web"))
	c.RequireRunning("other")
	_, err = drain.Node(t.Context(), c.Client(), "node-3", drain.Options{})
	assert.EqualError(t, err, `nodes "node-3" not found`)
}
