package csi_test

import (
	"context"
	"fmt"
	"path"
	"testing"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/storagesimtest"
)

// local is the name of the driver in these tests.
const local = "local.example.com"

func onNodes(capacity int64) driver.Config {
	return driver.Config{Name: local, OnNodes: true, StorageCapacity: true, Capacity: capacity}
}

const localClaims = `
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: late}, provisioner: local.example.com, volumeBindingMode: WaitForFirstConsumer}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: now}, provisioner: local.example.com}
`

func localPod(name, class string) string {
	return fmt.Sprintf(`
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data-%[1]s}, spec: {accessModes: [ReadWriteOnce], storageClassName: %[2]s,
  resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: %[1]s}, spec: {containers: [{name: c, image: busybox,
  command: [sh, -c, "echo %[1]s > /data/name; sleep 100000"], volumeMounts: [{name: v, mountPath: /data}]}],
  volumes: [{name: v, persistentVolumeClaim: {claimName: data-%[1]s}}]}}
`, name, class)
}

func TestAProvisionerOnEachNodeMakesTheVolumesOfThatNode(t *testing.T) {
	for seed := range uint64(3) {
		c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks, Nodes: storagesim.Nodes("node-1", "node-2"), Seed: seed})
		c.InstallCSIDriver(onNodes(0))
		require.Contains(t, c.Engine().Actors(), "csi-provisioner/local.example.com/node-2")
		require.NotContains(t, c.Engine().Actors(), "csi-provisioner/local.example.com")
		c.Apply(localClaims)
		c.RunFor(10 * time.Second)
		c.Apply(localPod("late", "late"))
		c.Apply(localPod("now", "now"))
		c.RunFor(3 * time.Minute)
		for _, name := range []string{"late", "now"} {
			pod := c.Pod(name)
			require.Equal(t, v1.PodRunning, pod.Status.Phase, c.Story())
			data, err := c.Cluster.Machine("node/" + pod.Spec.NodeName).ReadFile(path.Join(volumesOnNode, madeFor(c, "data-"+name), "data", "name"))
			require.NoError(t, err)
			require.Equal(t, name+"\n", data)
		}
		c.Delete("pod/late", "pod/now", "pvc/data-late", "pvc/data-now")
		c.RunFor(3 * time.Minute)
		for _, node := range []string{"node/node-1", "node/node-2"} {
			left := c.Machine(node).ListDir(volumesOnNode)
			require.Empty(t, left, node)
		}
		require.Equal(t, "No resources found\n", c.Get("pv"))
		c.RequireNoLeaks()
	}
}

// volumesOnNode is the directory of the driver's volumes on a node.
const volumesOnNode = "/var/lib/" + local + "/volumes"

func madeFor(c *storagesimtest.Cluster, claim string) string {
	return c.Volume(c.Claim(claim).Spec.VolumeName).Spec.CSI.VolumeHandle
}

// capacities returns the free space of each node as the CSIStorageCapacity objects report it. A
// class with immediate binding has no such object.
func capacities(t *testing.T, c *storagesimtest.Cluster) map[string]string {
	t.Helper()
	list, err := c.Client().StorageV1().CSIStorageCapacities("").List(context.Background(), metav1.ListOptions{})
	require.NoError(t, err)
	left := map[string]string{}
	for _, object := range list.Items {
		require.Equal(t, "late", object.StorageClassName)
		require.Len(t, object.NodeTopology.MatchLabels, 1, "a segment is one node")
		node := object.NodeTopology.MatchLabels["topology."+local+"/node"]
		require.NotContains(t, left, node, "one object for each node")
		require.Equal(t, "external-provisioner-"+node, object.Labels["csi.storage.k8s.io/managed-by"])
		left[node] = object.Capacity.String()
	}
	return left
}

func TestEachNodePublishesItsOwnCapacity(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks, Nodes: storagesim.Nodes("node-1", "node-2")})
	c.InstallCSIDriver(onNodes(1 << 30))
	c.Apply(localClaims)
	c.RunFor(10 * time.Second)
	require.Equal(t, map[string]string{"node-1": "1Gi", "node-2": "1Gi"}, capacities(t, c))

	c.Apply(localPod("first", "late"))
	c.RunFor(2 * time.Minute)
	first := c.Pod("first").Spec.NodeName
	other := map[string]string{"node-1": "node-2", "node-2": "node-1"}[first]
	require.Equal(t, map[string]string{first: "0", other: "1Gi"}, capacities(t, c))

	c.Apply(localPod("second", "late"))
	c.RunFor(2 * time.Minute)
	require.Equal(t, other, c.Pod("second").Spec.NodeName, "the first node is full")
	c.Apply(localPod("third", "late"))
	c.RunFor(2 * time.Minute)
	require.Empty(t, c.Pod("third").Spec.NodeName)
	require.Contains(t, c.Story(), "0/2 nodes are available: 2 node(s) did not have enough free storage")

	// The provisioner of a node starts again, and takes what there is for its own.
	c.Must(c.Engine().CrashFor("csi-provisioner/"+local+"/"+first, time.Minute))
	c.Delete("pod/first", "pvc/data-first")
	c.RunFor(10 * time.Minute)
	require.Equal(t, first, c.Pod("third").Spec.NodeName, c.Story())
	require.Equal(t, map[string]string{first: "0", other: "0"}, capacities(t, c))

	// With the class go its objects.
	c.Delete("pod/second", "pod/third", "pvc/data-second", "pvc/data-third", "sc/late")
	c.RunFor(5 * time.Minute)
	require.Empty(t, capacities(t, c))
	c.RequireNoLeaks()
}

func TestANodeThatIsSwitchedOffAndOnKeepsItsVolumesAndItsCapacity(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks, Nodes: storagesim.Nodes("node-1", "node-2")})
	c.InstallCSIDriver(onNodes(2 << 30))
	c.Apply(localClaims)
	c.RunFor(10 * time.Second)
	c.Apply(localPod("first", "late"))
	c.RunFor(2 * time.Minute)
	first := c.Pod("first").Spec.NodeName
	before := capacities(t, c)
	require.Equal(t, "1Gi", before[first])
	c.Stop("node/" + first)
	c.RunFor(time.Minute)
	require.Equal(t, before, capacities(t, c))
	c.Start("node/" + first)
	c.RunFor(3 * time.Minute)
	require.Equal(t, before, capacities(t, c), "the volume is found on the node's disk, and counted")
	c.Delete("pod/first", "pvc/data-first")
	c.RunFor(5 * time.Minute)
	require.Equal(t, map[string]string{"node-1": "2Gi", "node-2": "2Gi"}, capacities(t, c))
	require.Equal(t, "No resources found\n", c.Get("pv"))
	c.RequireNoLeaks()
}

// As with csi-provisioner, what a node has published outlives the node, unless its owner goes: the provisioner that
// would delete it has gone with the node.
func TestTheCapacityOfANodeThatIsDeletedStaysAndServesNoPod(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks, Nodes: storagesim.Nodes("node-1", "node-2")})
	c.InstallCSIDriver(onNodes(1 << 30))
	c.Apply(localClaims)
	c.RunFor(10 * time.Second)
	c.Stop("node/node-2")
	c.Delete("node/node-2")
	c.RunFor(10 * time.Minute)
	require.Equal(t, map[string]string{"node-1": "1Gi", "node-2": "1Gi"}, capacities(t, c))

	c.Apply(localPod("first", "late"), localPod("second", "late"))
	c.RunFor(2 * time.Minute)
	require.ElementsMatch(t, []string{"node-1", ""}, []string{c.Pod("first").Spec.NodeName, c.Pod("second").Spec.NodeName}, c.Story())
	require.Equal(t, map[string]string{"node-1": "0", "node-2": "1Gi"}, capacities(t, c))
}

func TestImmediateClaimsAreTakenByOneNodeEach(t *testing.T) {
	for seed := range uint64(3) {
		c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks, Nodes: storagesim.Nodes("node-1", "node-2", "node-3"), Seed: seed})
		c.InstallCSIDriver(onNodes(0))
		c.Apply(localClaims)
		for i := range 6 {
			c.Apply(localPod(fmt.Sprint("now-", i), "now"))
		}
		c.RunFor(10 * time.Minute)
		volumes := map[string]string{} // node by handle
		for _, node := range []string{"node-1", "node-2", "node-3"} {
			made := c.Machine("node/" + node).ListDir(volumesOnNode)
			for _, volume := range made {
				volume = path.Clean(volume)
				require.NotContains(t, volumes, volume, "made once")
				volumes[volume] = node
			}
		}
		require.Len(t, volumes, 6)
		for i := range 6 {
			pod := c.Pod(fmt.Sprint("now-", i))
			require.Equal(t, v1.PodRunning, pod.Status.Phase)
			require.Equal(t, pod.Spec.NodeName, volumes[madeFor(c, fmt.Sprint("data-now-", i))])
		}
	}
}

func TestADriverWithAControllerOnEachNodeThatCannotBeIsRefusedInWords(t *testing.T) {
	for want, change := range map[string]func(*csi.Driver){
		"NodeController is for drivers whose volumes are not attached: Spec.AttachRequired must be false": func(d *csi.Driver) { d.Spec.AttachRequired = nil },
		"NodeController is for drivers with Node and without Controller, " +
			"NewController and Endpoint": func(d *csi.Driver) { d.Controller = spec.UnimplementedControllerServer{} },
		"csi.Driver local.example.com: NodeController is for drivers with Node": func(d *csi.Driver) {
			d.Node, d.NodeEndpoint = nil,
				func(string) string { return "unix:///x" }
		},
	} {
		d, err := driver.New(onNodes(0))
		require.NoError(t, err)
		change(&d)
		require.ErrorContains(t, d.Check(), want)
	}
	_, err := driver.New(driver.Config{OnNodes: true, AttributesClasses: true})
	require.ErrorContains(t, err, "driver.Config.AttributesClasses: with OnNodes there is no resizer")
}
