package csi_test

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim/engine"
)

var internal = status.Error(codes.Internal, "no luck")

// inline returns a volume of a pod's own.
func inline(name string) v1.Volume {
	ext4, no := "ext4", false
	return v1.Volume{Name: name, VolumeSource: v1.VolumeSource{CSI: &v1.CSIVolumeSource{
		Driver: driverName, FSType: &ext4, ReadOnly: &no, VolumeAttributes: map[string]string{"size": "1Gi"},
		NodePublishSecretRef: &v1.LocalObjectReference{Name: "key"},
	}}}
}

func ephemeral() storagev1.CSIDriverSpec {
	yes := true
	return storagev1.CSIDriverSpec{PodInfoOnMount: &yes, VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecycleEphemeral}}
}

// semantics 5.5 (1) and (6).
func TestAnInlineVolumeIsPublishedAndNeitherAttachedNorStaged(t *testing.T) {
	w := withDriver(t, engine.Config{}, ephemeral())
	w.secret("key", map[string][]byte{"k": []byte("v")})
	p := w.create(pod("web", inline("scratch")))
	w.run(5 * time.Second)
	require.Equal(t, v1.PodRunning, w.phase("web"), "%v", w.events("web"))
	require.NotContains(t, w.driver.calls, "NodeStageVolume")
	req := w.publishRequest()
	require.Equal(t, fmt.Sprintf("csi-%x", sha256.Sum256([]byte(string(p.UID)+"scratch"))), req.VolumeId)
	require.Equal(t, "/var/lib/kubelet/pods/"+string(p.UID)+"/volumes/kubernetes.io~csi/scratch/mount", req.TargetPath)
	require.Equal(t, map[string]string{"k": "v"}, req.Secrets)
	require.Equal(t, "true", req.VolumeContext["csi.storage.k8s.io/ephemeral"])
	require.Equal(t, "1Gi", req.VolumeContext["size"])
	require.Equal(t, "ext4", req.VolumeCapability.GetMount().FsType)
	require.Empty(t, req.StagingTargetPath)
	require.Empty(t, w.node().Status.VolumesInUse)

	require.NoError(t, w.e.Crash(actor)) // what it is stands beside the mount
	w.run(20 * time.Second)
	w.delete("web")
	w.run(time.Minute)
	require.NotContains(t, w.driver.calls, "NodeUnstageVolume")
	w.requireNothingLeft()
}

func TestADriverIsNotGivenVolumesOfAKindThatItDoesNotHave(t *testing.T) {
	spec := ephemeral()
	spec.AttachRequired = new(bool)
	w := withDriver(t, engine.Config{}, spec)
	w.boundVolume("data", nil)
	w.create(pod("web", claim("data")))
	w.run(5 * time.Second)
	require.Contains(t, w.events("web"), `FailedMount: MountVolume.SetUp failed for volume "pv-data" : kubernetes.io/csi: mounter.SetupAt failed to check `+
		`volume lifecycle mode: volume mode "Persistent" not supported by driver disk.example.com (only supports ["Ephemeral"])`)
	require.NotContains(t, w.driver.calls, "NodePublishVolume")
	w.delete("web")
	w.run(time.Minute)
	w.requireNothingLeft()

	persistentOnly := withDriver(t, engine.Config{}, noAttach())
	persistentOnly.secret("key", nil)
	persistentOnly.create(pod("web", inline("scratch")))
	persistentOnly.run(5 * time.Second)
	require.Contains(t, persistentOnly.events("web"), `FailedMount: MountVolume.SetUp failed for volume "scratch" : kubernetes.io/csi: `+
		`mounter.SetupAt failed to check volume lifecycle mode: volume mode "Ephemeral" not supported by driver disk.example.com (only supports ["Persistent"])`)
	require.NotContains(t, persistentOnly.driver.calls, "NodePublishVolume")
	persistentOnly.delete("web")
	persistentOnly.run(time.Minute)
	persistentOnly.requireNothingLeft()

	unknown := newWorld(t, engine.Config{}) // there is no CSIDriver object
	unknown.listen()
	unknown.run(5 * time.Second)
	unknown.create(pod("web", inline("scratch")))
	unknown.run(5 * time.Second)
	require.Contains(t, unknown.events("web"), `FailedMount: MountVolume.SetUp failed for volume "scratch" : kubernetes.io/csi: mounter.SetupAt failed to check `+
		`volume lifecycle mode: volume mode "Ephemeral" not supported by driver disk.example.com (no CSIDriver object)`)
	require.NotContains(t, unknown.driver.calls, "NodePublishVolume")
}
