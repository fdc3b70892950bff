package csi_test

import (
	"encoding/json"
	"path"
	"testing"
	"time"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/engine"
)

// semantics 5.5: where a volume is staged and published, and what is written beside it.
func TestAVolumeIsStagedThenPublishedThenTakenAway(t *testing.T) {
	w := withDriver(t, engine.Config{}, noAttach())
	w.boundVolume("data", nil)
	p := w.create(pod("web", claim("data")))
	w.run(5 * time.Second)
	require.Equal(t, v1.PodRunning, w.phase("web"), w.e.Trace().Story(engine.Start()))
	require.Equal(t, []string{"NodeGetInfo", "NodeStageVolume", "NodePublishVolume"}, w.driver.calls)

	stage, ok := w.driver.requests[1].(*csipb.NodeStageVolumeRequest)
	require.True(t, ok)
	dir := "/var/lib/kubelet/pods/" + string(p.UID) + "/volumes/kubernetes.io~csi/pv-data"
	require.Equal(t, map[string]string{stage.StagingTargetPath: "vol-data"}, w.driver.staged)
	require.Equal(t, map[string]string{dir + "/mount": "vol-data"}, w.driver.published)
	require.Regexp(t, `^/var/lib/kubelet/plugins/kubernetes\.io/csi/disk\.example\.com/[0-9a-f]{64}/globalmount$`, stage.StagingTargetPath)
	text, err := w.disk.ReadFile(dir + "/vol_data.json")
	require.NoError(t, err)
	var data map[string]string
	require.NoError(t, json.Unmarshal(text, &data))
	require.Len(t, data["attachmentID"], len("csi-")+64)
	delete(data, "attachmentID")
	require.Equal(t, map[string]string{"driverName": driverName, "nodeName": "node-1", "specVolID": "pv-data", "volumeHandle": "vol-data",
		"volumeLifecycleMode": "Persistent"}, data)
	text, err = w.disk.ReadFile(path.Dir(stage.StagingTargetPath) + "/vol_data.json")
	require.NoError(t, err)
	require.JSONEq(t, `{"driverName":"`+driverName+`","volumeHandle":"vol-data"}`, string(text))
	require.Empty(t, w.node().Status.VolumesInUse, "it is not attached")

	w.delete("web")
	w.run(time.Minute)
	require.Equal(t, v1.PodPhase("gone"), w.phase("web"))
	require.Equal(t, []string{"NodeUnpublishVolume", "NodeUnstageVolume"}, w.driver.calls[3:])
	w.requireNothingLeft()
}

// semantics 5 must 1.
func TestTwoPodsShareOneStagedVolume(t *testing.T) {
	w := withDriver(t, engine.Config{}, noAttach())
	w.boundVolume("data", nil)
	w.create(pod("web", claim("data")))
	w.create(pod("two", claim("data")))
	w.run(5 * time.Second)
	require.Equal(t, []string{"NodeGetInfo", "NodeStageVolume", "NodePublishVolume", "NodePublishVolume"}, w.driver.calls)
	w.delete("web")
	w.run(time.Minute)
	require.Len(t, w.driver.staged, 1)
	w.delete("two")
	w.run(time.Minute)
	w.requireNothingLeft()
}

// semantics 5 must 8: which errors leave a volume in doubt.
func TestAVolumeInDoubtIsTakenDownAndOneThatFailedForGoodIsNot(t *testing.T) {
	for _, method := range []string{"NodeStageVolume", "NodePublishVolume"} {
		for code, doubt := range map[codes.Code]bool{
			codes.DeadlineExceeded: true, codes.Unavailable: true, codes.Canceled: true, codes.Aborted: true, codes.ResourceExhausted: true,
			codes.InvalidArgument: false, codes.Internal: false, codes.NotFound: false, codes.FailedPrecondition: false,
		} {
			t.Run(method+" "+code.String(), func(t *testing.T) {
				w := withDriver(t, engine.Config{}, noAttach())
				w.driver.before = func(called string, _ any) error {
					if called == method {
						return status.Error(code, "no luck")
					}
					return nil
				}
				w.boundVolume("data", nil)
				w.create(pod("web", claim("data")))
				w.run(5 * time.Second)
				require.NotEmpty(t, w.events("web"))
				w.delete("web")
				w.run(time.Minute)
				require.Equal(t, v1.PodPhase("gone"), w.phase("web"))
				undo := map[string]string{"NodeStageVolume": "NodeUnstageVolume", "NodePublishVolume": "NodeUnpublishVolume"}[method]
				if doubt {
					require.Contains(t, w.driver.calls, undo)
				} else {
					require.NotContains(t, w.driver.calls, undo)
				}
				w.requireNothingLeft()
			})
		}
	}
}

// Upstream: the recordings' texts.
func TestAFailureIsToldToThePodInUpstreamsWords(t *testing.T) {
	for method, want := range map[string]string{
		"NodeStageVolume":   `FailedMount: MountVolume.MountDevice failed for volume "pv-data" : rpc error: code = Internal desc = no luck`,
		"NodePublishVolume": `FailedMount: MountVolume.SetUp failed for volume "pv-data" : rpc error: code = Internal desc = no luck`,
	} {
		w := withDriver(t, engine.Config{}, noAttach())
		failures := 1
		w.driver.before = func(called string, _ any) error {
			if called == method && failures > 0 {
				failures--
				return status.Error(codes.Internal, "no luck")
			}
			return nil
		}
		w.boundVolume("data", nil)
		w.create(pod("web", claim("data")))
		w.run(5 * time.Second)
		require.Equal(t, []string{want}, w.events("web"))
		require.Equal(t, v1.PodRunning, w.phase("web"))
	}
}

func TestWithoutADriverTheVolumeWaitsForIt(t *testing.T) {
	w := newWorld(t, engine.Config{})
	w.csiDriver(noAttach())
	w.boundVolume("data", nil)
	w.create(pod("web", claim("data")))
	w.run(5 * time.Second)
	require.Equal(t, []string{`FailedMount: MountVolume.MountDevice failed for volume "pv-data" : kubernetes.io/csi: attacher.MountDevice failed to create ` +
		`newCsiDriverClient: driver name disk.example.com not found in the list of registered CSI drivers`}, w.events("web"))
	w.listen()
	w.run(10 * time.Second)
	require.Equal(t, v1.PodRunning, w.phase("web"))
}

// A stop of the kubelet at any moment, and what it finds when it starts again.
func TestAKubeletThatRestartsStagesAndPublishesAgainAndTakesEverythingAway(t *testing.T) {
	w := withDriver(t, engine.Config{}, noAttach())
	w.boundVolume("data", nil)
	w.create(pod("web", claim("data")))
	w.run(5 * time.Second)
	require.NoError(t, w.e.Crash(actor))
	w.run(20 * time.Second)
	require.Equal(t, []string{"NodeGetInfo", "NodeStageVolume", "NodePublishVolume"}, w.driver.calls[3:])
	w.delete("web")
	w.run(time.Minute)
	w.requireNothingLeft()
}
