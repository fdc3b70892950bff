package storagesim_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/storagesimtest"
)

// Upstream: desired_state_of_world.go GetVolumesToMount, actual_state_of_world.go GetAllMountedVolumes and GetUnmountedVolumes, v1.37.2, which walk Go maps.
func TestTheVolumesOfAPodAreMountedAndUnmountedInAnyOrder(t *testing.T) {
	calls := map[string]*regexp.Regexp{}
	for _, method := range []string{"NodeStageVolume", "NodeUnpublishVolume", "NodeUnstageVolume"} {
		calls[method] = regexp.MustCompile(`kubelet/node-1 +calls ` + method + ` [^\n]*?(vol-[0-9a-f]+)`)
	}
	first := map[string]map[bool]int{}
	for method := range calls {
		first[method] = map[bool]int{}
	}
	for seed := range uint64(12) {
		c := storagesimtest.New(t, storagesim.Config{Seed: seed + 1})
		c.InstallCSIDriver(driver.Config{})
		c.Apply(`
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: csi}, provisioner: csi.storagesim.io}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, spec: {storageClassName: csi, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: b}, spec: {storageClassName: csi, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, image: busybox, volumeMounts: [{name: a, mountPath: /a}, {name: b, mountPath: /b}]}],
  volumes: [{name: a, persistentVolumeClaim: {claimName: a}}, {name: b, persistentVolumeClaim: {claimName: b}}]}}`)
		c.Settle()
		of := c.Volume(c.Claim("a").Spec.VolumeName).Spec.CSI.VolumeHandle
		c.Delete("pod/web")
		c.Settle()
		for method, call := range calls {
			found := call.FindStringSubmatch(c.Story())
			require.NotNil(t, found, "%s: %s", method, c.Story())
			first[method][found[1] == of]++
		}
	}
	for method := range calls {
		require.Len(t, first[method], 2, method)
	}
}
