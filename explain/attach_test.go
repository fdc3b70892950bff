package explain_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/storagesimtest"
)

// csiVolume is a volume of a CSI driver, and a claim for it.
const csiVolume = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  csi: {driver: disk.example.com, volumeHandle: h1}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: ""
  resources: {requests: {storage: 1Gi}}
`

const diskName = v1.UniqueVolumeName("kubernetes.io/csi/disk.example.com^h1")

// csiPod returns a pod on a node that uses the claim.
func csiPod(name, node string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  nodeName: %s
  containers: [{name: c, image: busybox, volumeMounts: [{name: d, mountPath: /d}]}]
  volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]
`, name, node)
}

// attached plays the attacher: every VolumeAttachment is attached.
func attached(c *storagesimtest.Cluster) {
	c.T.Helper()
	list, err := c.Client().StorageV1().VolumeAttachments().List(c.T.Context(), metav1.ListOptions{})
	require.NoError(c.T, err)
	for _, va := range list.Items {
		setStatus(c, "volumeattachments", va.Name, `{"status":{"attached":true,"attachError":null}}`)
	}
}

func setStatus(c *storagesimtest.Cluster, resource, name, patch string) {
	c.T.Helper()
	var err error
	if resource == "nodes" {
		_, err = c.Client().CoreV1().Nodes().Patch(c.T.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	} else {
		_, err = c.Client().StorageV1().VolumeAttachments().Patch(c.T.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	}
	require.NoError(c.T, err)
}

func TestAPodThatWaitsForItsVolumeToBeAttachedIsExplained(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2")})
	c.Stop("kubelet/node-1") // its node's status is written by hand
	c.Apply(csiVolume, csiPod("web", "node-1"))
	c.Settle()
	explain := func(pod string) string {
		t.Helper()
		return c.Explain("pod/" + pod)
	}
	assert.Regexp(t, `volume disk is not attached to node node-1 yet: volumeattachment csi-[0-9a-f]{64} waits for the attacher of driver disk.example.com to `+
		`set status.attached`, explain("web"))

	list, err := c.Client().StorageV1().VolumeAttachments().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	setStatus(c, "volumeattachments", list.Items[0].Name, `{"status":{"attachError":{"message":"no such disk"}}}`)
	assert.Regexp(t, `volume disk cannot be attached to node node-1: volumeattachment csi-\S+ says: no such disk`, explain("web"))
	attached(c)
	assert.Contains(t, explain("web"), "volume disk is attached to node node-1, whose status.volumesAttached does not list it yet")
	c.RunFor(10 * time.Second)
	assert.Contains(t, explain("web"), "volume disk is attached to node node-1, whose kubelet has not yet said in status.volumesInUse that it will use it")
	setStatus(c, "nodes", "node-1", `{"status":{"volumesInUse":["`+string(diskName)+`"]}}`)
	assert.NotContains(t, explain("web"), "volume disk is")

	c.Apply(csiPod("two", "node-2"))
	c.Settle()
	assert.Contains(t, explain("two"),
		"volume disk is attached to node node-1, and its access modes [ReadWriteOnce] allow one node only: it is used there by pod default/web")
	c.Stop(storagesim.AttachDetach)
	assert.Contains(t, explain("two"), "attachdetach-controller, which asks for volumes to be attached and detached, is stopped")
	c.Start(storagesim.AttachDetach)
	require.NoError(t, c.Cluster.Client().CoreV1().Pods("default").Delete(t.Context(), "web", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
	assert.Contains(t, explain("two"),
		"allow one node only: no pod uses it there; it is detached when the node's kubelet has unmounted it and says so in status.volumesInUse")
	setStatus(c, "nodes", "node-1", `{"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}`)
	assert.Contains(t, explain("two"), "no pod uses it there, and the node is not ready; it is detached 6m0s after its last pod has gone, "+
		"or at once if the node is tainted node.kubernetes.io/out-of-service")
}

func TestWithoutAnAttachDetachControllerAnExplanationSaysSo(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Only: []string{storagesim.PVController, storagesim.Scheduler}})
	c.Apply(csiVolume, csiPod("web", "node-1"))
	c.Settle()
	assert.Contains(t, c.Explain("pod/web"), "attachdetach-controller, which asks for volumes to be attached and detached, does not run here")
}

func TestAnAttachmentThatOutlivesItsPodsIsALeak(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(csiVolume, csiPod("web", "node-1"))
	c.Settle()
	attached(c)
	c.RunFor(10 * time.Second)
	c.RequireNoLeaks()
	c.Stop(storagesim.AttachDetach)
	c.Delete("pod/web")
	c.Settle()
	list, err := c.Client().StorageV1().VolumeAttachments().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	require.ErrorContains(t, c.Cluster.RequireNoLeaks(), "volumeattachment "+list.Items[0].Name+
		" of pv disk, which no pod on node node-1 uses (made by attachdetach-controller)")
	c.Start(storagesim.AttachDetach)
	c.Settle()
	c.RequireNoLeaks()
}
