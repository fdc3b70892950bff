package csi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/call"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/storagesimtest"
)

func csiLife(t *testing.T, seed uint64) string {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks, Seed: seed})
	c.InstallCSIDriver(driver.Config{})
	c.Apply(clustertest.CSIManifests)
	c.RunFor(time.Minute)
	require.Equal(t, "Running", string(c.Pod("web").Status.Phase))
	volumes := c.Machine("host/csi.storagesim.io").ListDir("/volumes")
	require.Len(t, volumes, 1)
	data, err := c.Cluster.Machine("host/csi.storagesim.io").ReadFile("/volumes/" + volumes[0] + "data/index.html")
	require.NoError(t, err)
	require.Equal(t, "hello\n", data)
	c.Delete("pod/web", "pvc/data")
	c.RunFor(2 * time.Minute)
	require.Empty(t, c.Machine("host/csi.storagesim.io").ListDir("/volumes"))
	c.RequireNoLeaks()
	return c.Story()
}

func TestAClaimOfTheReferenceDriverBecomesAMountedVolumeAndGoesAwayAgain(t *testing.T) {
	story, from := csiLife(t, 0), 0
	for _, call := range []string{
		"CreateVolume", "ControllerPublishVolume", "NodeStageVolume", "NodePublishVolume",
		"NodeUnpublishVolume", "NodeUnstageVolume", "ControllerUnpublishVolume", "DeleteVolume",
	} {
		at := strings.Index(story[from:], "calls "+call+" of csi.storagesim.io")
		require.GreaterOrEqual(t, at, 0, "%s, after what comes before it", call)
		from += at
	}
}

func TestTheLifeOfACSIVolumeRepeatsFromItsSeed(t *testing.T) {
	for seed := range uint64(5) {
		require.Equal(t, csiLife(t, seed+1), csiLife(t, seed+1))
	}
}

// Upstream: external-attacher csi_handler.go getNodeID, v4.13, and csi_attacher.go
// verifyAttachmentStatus, v1.37.
func TestAPodThatComesTogetherWithItsDriverIsToldOnceThatTheNodeDoesNotHaveTheDriverYet(t *testing.T) {
	for wait, want := range map[time.Duration]int{0: 1, 2 * time.Second: 0} {
		c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
		c.InstallCSIDriver(driver.Config{})
		c.RunFor(wait)
		c.Apply(clustertest.CSIManifests)
		c.RunFor(time.Minute)
		require.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
		require.Equal(t, want, strings.Count(c.Story(), "FailedAttachVolume"), c.Story())
		require.Equal(t, want, strings.Count(c.Story(), "FailedAttachVolume: AttachVolume.Attach failed for volume \"pvc-"), c.Story())
	}
}

// Semantics 5.5: what NodeGetInfo says of max_volumes_per_node is the CSINode's allocatable count.
func TestAPodWaitsForANodeThatHasRoomForItsVolume(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	c.InstallCSIDriver(driver.Config{MaxVolumes: 1})
	c.RunFor(5 * time.Second)
	csiNode, err := c.Client().StorageV1().CSINodes().Get(t.Context(), "node-1", metav1.GetOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 1, *csiNode.Spec.Drivers[0].Allocatable.Count)
	c.Apply(clustertest.CSIManifests)
	c.RunFor(time.Minute)
	require.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)

	c.Apply(csiClaim("second"), claimPodOn("second", "node-1"))
	c.RunFor(time.Minute)
	require.Equal(t, v1.PodPending, c.Pod("second").Status.Phase)
	require.Empty(t, c.Pod("second").Spec.NodeName)
	require.Contains(t, c.Story(), "0/1 nodes are available: 1 node(s) exceed max volume count.")
	c.Delete("pod/web")
	c.RunFor(2 * time.Minute)
	require.Equal(t, v1.PodRunning, c.Pod("second").Status.Phase, "its turn has come")
	c.Delete("pod/second", "pvc/data", "pvc/second")
	c.RunFor(2 * time.Minute)
	c.RequireNoLeaks()
}

// Upstream: volume_stat_calculator.go calcAndStoreStats, v1.37.2.
func TestTheKubeletAsksTheDriverHowFullAPodsVolumeIs(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	c.InstallCSIDriver(driver.Config{})
	c.Inject(call.Fault{Method: "NodeGetVolumeStats", Code: codes.Internal, Message: "no"})
	c.Apply(clustertest.CSIManifests)
	c.RunFor(10 * time.Minute)
	stats, err := c.Cluster.Machine("pod/web").VolumeStats()
	require.NoError(t, err)
	require.Empty(t, stats, "the first call is this one, which fails: a volume of which it cannot be told is left out")
	require.Contains(t, c.Story(), "how full volume data is cannot be told: ")
	stats, err = c.Cluster.Machine("pod/web").VolumeStats()
	require.NoError(t, err)
	require.Empty(t, stats, "the kubelet looks once a minute")
	c.RunFor(time.Minute)
	stats, err = c.Cluster.Machine("pod/default/web").VolumeStats()
	require.NoError(t, err)
	require.Len(t, stats, 1)
	require.Equal(t, "data", stats[0].Name)
	require.Equal(t, "data", stats[0].Claim)
	require.EqualValues(t, 1<<30, stats[0].Capacity.Value())
	require.EqualValues(t, len("hello\n"), stats[0].Used.Value())

	_, err = c.Cluster.Machine("pod/none").VolumeStats()
	require.ErrorContains(t, err, `pods "none" not found`)
	c.Stop("kubelet/node-1")
	_, err = c.Cluster.Machine("pod/web").VolumeStats()
	require.Error(t, err)
}
