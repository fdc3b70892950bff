package csi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/storagesim/storagesim/csi/call"
	"github.com/storagesim/storagesim/storagesimtest"
	"github.com/storagesim/storagesim/trace"
)

// slowStaging makes the first NodeStageVolume on node-1 take 45 s.
func slowStaging(c *storagesimtest.Cluster) {
	c.Inject(call.Fault{Method: "NodeStageVolume", Delay: 45 * time.Second})
}

// nodeCalls returns the calls of a method in the order in which they ended: the volume, and how long each took.
func nodeCalls(c *storagesimtest.Cluster, method string) (took []time.Duration) {
	for _, entry := range c.Engine().Trace().Entries() {
		if rpc, ok := entry.Record.(trace.RPC); ok && rpc.Method == method {
			took = append(took, rpc.Took)
		}
	}
	return took
}

// Recorded with real components: u11a_one_volume_hangs_another_goes_on.
func TestAVolumeIsStagedWhileAnotherOneOfItsNodeHangs(t *testing.T) {
	c := growing(t, 1)
	other := strings.NewReplacer("name: data}", "name: other}", "claimName: data", "claimName: other")
	c.Apply(other.Replace(growingClaim("1Gi")))
	c.RunFor(10 * time.Second)
	slowStaging(c)
	c.Apply(growingPod("web", "node-1") + "---\n" + other.Replace(growingPod("db", "node-1")))
	c.RunFor(20 * time.Second)
	require.Equal(t, []time.Duration{0}, nodeCalls(c, "NodeStageVolume"), "one has ended, the other has not")
	phases := []v1.PodPhase{c.Pod("web").Status.Phase, c.Pod("db").Status.Phase}
	require.ElementsMatch(t, []v1.PodPhase{v1.PodRunning, v1.PodPending}, phases)
	c.RunFor(40 * time.Second)
	require.Equal(t, []time.Duration{0, 45 * time.Second}, nodeCalls(c, "NodeStageVolume"))
	require.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
	require.Equal(t, v1.PodRunning, c.Pod("db").Status.Phase)
}

func TestAVolumeOfTwoPodsIsStagedOnceWhileThatHangs(t *testing.T) {
	c := growing(t, 1)
	slowStaging(c)
	c.Apply(growingPod("web", "node-1") + "---\n" + growingPod("db", "node-1"))
	c.RunFor(20 * time.Second)
	require.Empty(t, nodeCalls(c, "NodeStageVolume"))
	require.Empty(t, nodeCalls(c, "NodePublishVolume"), "the other pod's mount waits for the first one's")
	c.RunFor(40 * time.Second)
	require.Equal(t, []time.Duration{45 * time.Second}, nodeCalls(c, "NodeStageVolume"))
	require.Len(t, nodeCalls(c, "NodePublishVolume"), 2)
}

// Recorded with real components: pod_and_claim_deleted_while_staging.
func TestAPodThatGoesWhileItsVolumeHangsIsUnmountedAfterTheCallEnds(t *testing.T) {
	c := growing(t, 1)
	slowStaging(c)
	c.Apply(growingPod("web", "node-1"))
	c.RunFor(20 * time.Second)
	c.Delete("pod/web")
	c.RunFor(10 * time.Second)
	_, err := c.Cluster.Pod("web")
	require.True(t, apierrors.IsNotFound(err), "its object does not wait for the call: %v", err)
	require.Empty(t, nodeCalls(c, "NodeUnstageVolume"), "no operation of the volume begins while one is under way")
	c.RunFor(time.Minute)
	require.Len(t, nodeCalls(c, "NodePublishVolume"), 1)
	require.Len(t, nodeCalls(c, "NodeUnpublishVolume"), 1)
	require.Len(t, nodeCalls(c, "NodeUnstageVolume"), 1)
	require.Empty(t, c.Machine("node/node-1").ListDir("/var/lib/kubelet/pods"))
}
