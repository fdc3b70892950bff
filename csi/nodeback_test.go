package csi_test

import (
	"context"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/storagesimtest"
)

// A kubelet that is back refuses a pod that is to end and that its node does not take any more. No worker knows that pod, so that its volumes are
// mounted again, and its containers run, until the kubelet cleans up for the first time.
//
// Upstream: pod_workers.go ShouldPodContainersBeTerminating, before SyncKnownPods, v1.37.
func TestARefusedPodHasItsVolumesMountedAgainUntilTheKubeletCleansUp(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2"), Disks: storagesim.MemoryDisks})
	c.InstallCSIDriver(driver.Config{})
	c.Apply(clustertest.CSIManifests)
	c.RunFor(time.Minute)
	on := c.Pod("web").Spec.NodeName
	c.Stop("kubelet/" + on)
	c.RunFor(65 * time.Second)
	patch := `[{"op": "add", "path": "/spec/taints/-", "value": {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}}]`
	_, err := c.Client().CoreV1().Nodes().Patch(context.Background(), on, types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(t, err)
	c.RunFor(time.Second)
	require.NotNil(t, c.Pod("web").DeletionTimestamp)
	before := len(c.Story())
	c.Start("kubelet/" + on)
	c.RunFor(10 * time.Second)
	t.Log(c.Story()[before:])
	var did []string
	for _, m := range regexp.MustCompile(`calls (Node(?:Stage|Publish|Unpublish|Unstage)Volume|ControllerUnpublishVolume) `+
		`of|(TaintToleration|Killing): `).FindAllStringSubmatch(c.Story()[before:], -1) {
		did = append(did, m[1]+m[2])
	}
	require.Equal(t, []string{
		"TaintToleration", "NodeStageVolume", "NodePublishVolume", "ControllerUnpublishVolume", "Killing", "NodeUnpublishVolume", "NodeUnstageVolume",
	}, did)
}
