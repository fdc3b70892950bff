package csi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/csi/call"
	"github.com/storagesim/storagesim/storagesimtest"
	"github.com/storagesim/storagesim/trace"
)

// situations returns the situations in which a run did otherwise than upstream.
func situations(c *storagesimtest.Cluster) (list []trace.Situation) {
	for _, d := range c.Deviations() {
		list = append(list, d.Situation)
	}
	return list
}

// twoVolumes starts two pods on one node, each with a claim of its own.
func twoVolumes(c *storagesimtest.Cluster) {
	other := strings.NewReplacer("name: data}", "name: other}", "claimName: data", "claimName: other")
	c.Apply(other.Replace(growingClaim("1Gi")))
	c.Apply(growingPod("web", "node-1") + "---\n" + other.Replace(growingPod("db", "node-1")))
	c.RunFor(3 * time.Minute)
}

func TestAVolumeThatWaitsForASlowOneOfItsNodeDeviates(t *testing.T) {
	c := growing(t, 1)
	twoVolumes(c)
	require.Empty(t, situations(c), "no call took time")

	c = growing(t, 1)
	c.InjectCSI(call.Fault{Method: "NodeStageVolume", Delay: 45 * time.Second})
	twoVolumes(c)
	require.Equal(t, []trace.Situation{trace.OneVolumeAtATime}, situations(c))
	require.Contains(t, c.Story(), "deviates at node node-1: upstream works on several volumes of a node at once")
	why, err := c.Cluster.Explain("pod/web")
	require.NoError(t, err)
	require.Contains(t, why, "\nthis run deviates at node node-1: upstream works on several volumes")
}
