package csi_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/storagesimtest"
)

const attributes = `
{apiVersion: storage.k8s.io/v1, kind: VolumeAttributesClass, metadata: {name: silver}, driverName: csi.storagesim.io, parameters: {iops: "100"}}
---
{apiVersion: storage.k8s.io/v1, kind: VolumeAttributesClass, metadata: {name: gold}, driverName: csi.storagesim.io, parameters: {iops: "1000"}}
---
{apiVersion: storage.k8s.io/v1, kind: VolumeAttributesClass, metadata: {name: odd}, driverName: csi.storagesim.io, parameters: {colour: blue}}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: csi}, provisioner: csi.storagesim.io}
`

func attributesClaim(class string) string {
	return `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: csi, ` +
		`volumeAttributesClassName: ` + class + `, resources: {requests: {storage: 1Gi}}}}`
}

func TestAVolumeInUseGetsAnotherVolumeAttributesClassAndTheOldOneCanBeDeletedThen(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	c.InstallCSIDriver(driver.Config{AttributesClasses: true})
	c.Apply(attributes)
	c.Apply(attributesClaim("silver"))
	c.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: web},
  spec: {containers: [{name: c, image: busybox, command: [sleep, "100000"], volumeMounts: [{name: v, mountPath: /data}]}],
  volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]}}`)
	c.RunFor(time.Minute)
	require.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
	require.Equal(t, "silver", *c.Claim("data").Status.CurrentVolumeAttributesClassName)
	iops := func() string {
		volumes := c.Machine("host/csi.storagesim.io").ListDir("/volumes")
		data, err := c.Cluster.Machine("host/csi.storagesim.io").ReadFile("/volumes/" + volumes[0] + "volume.json")
		require.NoError(t, err)
		return data
	}
	require.Contains(t, iops(), `"iops":"100"`)

	c.Apply(attributesClaim("gold"))
	c.RunFor(10 * time.Second)
	require.Equal(t, "gold", *c.Claim("data").Status.CurrentVolumeAttributesClassName)
	require.Contains(t, iops(), `"iops":"1000"`)
	require.Contains(t, c.Story(), "VolumeModifySuccessful: external resizer modified volume data with vac gold successfully")

	c.Delete("vac/silver", "vac/gold")
	c.RunFor(10 * time.Second)
	require.NotContains(t, c.Get("vac"), "silver")
	require.Contains(t, c.Get("vac"), "gold", "the claim has it")

	c.Apply(attributesClaim("odd"))
	c.RunFor(10 * time.Second)
	claim := c.Claim("data")
	require.Equal(t, v1.PersistentVolumeClaimModifyVolumeInfeasible, claim.Status.ModifyVolumeStatus.Status)
	require.Contains(t, c.Story(), `mutable_parameters: "colour" is not known; there is iops`)

	c.Delete("pod/web", "pvc/data")
	c.RunFor(2 * time.Minute)
	require.NotContains(t, c.Get("vac"), "gold")
	c.RequireNoLeaks()
}
