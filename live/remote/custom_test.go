package remote_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/control/snapshots"
)

const gadgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gadgets, kind: Gadget}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
---
{apiVersion: v1, kind: Namespace, metadata: {name: team}}
---
{apiVersion: example.com/v1, kind: Gadget, metadata: {name: of-a-team, namespace: team}}
---
{apiVersion: example.com/v1, kind: Gadget, metadata: {name: owner}}
`

func TestCustomObjectsOnSomebodyElsesServerOwnOthersAndGoWithTheirNamespace(t *testing.T) {
	withoutControlPlane(t, func(t *testing.T, c *storagesim.Cluster) {
		r := start(t, c, storagesim.GarbageCollection, storagesim.NamespaceDeletion)
		time.Sleep(30 * time.Second)
		require.NoError(t, c.Apply(gadgets))
		client, err := dynamic.NewForConfig(c.RESTConfig("tester"))
		require.NoError(t, err)
		of := client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"}).Namespace("default")
		owner, err := of.Get(t.Context(), "owner", metav1.GetOptions{})
		require.NoError(t, err)
		configs := c.Client().CoreV1().ConfigMaps("default")
		_, err = configs.Create(t.Context(), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owned", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "example.com/v1", Kind: "Gadget", Name: "owner", UID: owner.GetUID()},
		}}}, metav1.CreateOptions{})
		require.NoError(t, err)
		time.Sleep(time.Minute)
		_, err = configs.Get(t.Context(), "owned", metav1.GetOptions{})
		require.NoError(t, err)

		require.NoError(t, of.Delete(t.Context(), "owner", metav1.DeleteOptions{}))
		require.NoError(t, c.Delete("ns/team"))
		time.Sleep(time.Minute)
		_, err = configs.Get(t.Context(), "owned", metav1.GetOptions{})
		assert.True(t, apierrors.IsNotFound(err), "%v", err)
		_, err = c.Client().CoreV1().Namespaces().Get(t.Context(), "team", metav1.GetOptions{})
		assert.True(t, apierrors.IsNotFound(err), "%v", err)
		require.NoError(t, r.stop())
		assert.Empty(t, r.warned())
	})
}

// snapshotOfAVolume is a snapshot of a claim with a volume of a CSI driver, of which there is no more.
const snapshotOfAVolume = `
{apiVersion: snapshot.storage.k8s.io/v1, kind: VolumeSnapshotClass, metadata: {name: snap}, driver: csi.example.com, deletionPolicy: Delete}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv-1}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: manual
  csi: {driver: csi.example.com, volumeHandle: vol-1}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: manual, resources: {requests: {storage: 1Gi}}}
---
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: s1}
spec: {volumeSnapshotClassName: snap, source: {persistentVolumeClaimName: data}}
`

func TestTheSnapshotControllerOnSomebodyElsesServerReadsAndWritesWholeCustomObjects(t *testing.T) {
	withoutControlPlane(t, func(t *testing.T, c *storagesim.Cluster) {
		require.NoError(t, c.Apply(snapshotOfAVolume))
		r := start(t, c, storagesim.PVController, storagesim.SnapshotController)
		time.Sleep(time.Minute)
		client, err := dynamic.NewForConfig(c.RESTConfig("csi-snapshotter"))
		require.NoError(t, err)
		contents := client.Resource(snapshots.Contents())
		made, err := contents.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, made.Items, 1)
		handle, _, _ := unstructured.NestedString(made.Items[0].Object, "spec", "source", "volumeHandle")
		assert.Equal(t, "vol-1", handle)

		name := made.Items[0].GetName()
		ready := []byte(`{"status": {"readyToUse": true, "snapshotHandle": "snap-1", "restoreSize": 1024, "creationTime": 1}}`)
		_, err = contents.Patch(t.Context(), name, types.MergePatchType, ready, metav1.PatchOptions{}, "status")
		require.NoError(t, err)
		time.Sleep(time.Minute)
		snapshot, err := client.Resource(snapshots.Snapshots()).Namespace("default").Get(t.Context(), "s1", metav1.GetOptions{})
		require.NoError(t, err)
		is, _, _ := unstructured.NestedBool(snapshot.Object, "status", "readyToUse")
		assert.True(t, is)
		assert.Contains(t, r.told(), "snapshot-controller creates volumesnapshotcontent "+name+"\n")
		assert.Contains(t, r.told(), "volumesnapshot default/s1 status: readyToUse = true, restoreSize = 1Ki\n")
		require.NoError(t, r.stop())
		assert.Empty(t, r.warned())
	})
}
