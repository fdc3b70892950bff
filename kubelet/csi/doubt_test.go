package csi_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/kubelet/volumemanager"
	"github.com/storagesim/storagesim/volume"
)

// Bug 28: the driver has staged the volume, but its answer came too late.
func TestAVolumeWhoseStagingTimedOutIsUnstagedWhenItsPodGoes(t *testing.T) {
	w := withDriver(t, engine.Config{}, noAttach())
	w.driver.after = func(method string, _ any) error {
		if method == "NodeStageVolume" {
			return status.Error(codes.DeadlineExceeded, "the disk is slow")
		}
		return nil
	}
	w.boundVolume("data", nil)
	w.create(pod("web", claim("data")))
	w.run(5 * time.Second)
	require.Len(t, w.driver.staged, 1)
	w.delete("web")
	w.run(10 * time.Minute)
	require.Equal(t, v1.PodPhase("gone"), w.phase("web"))
	w.requireNothingLeft()
}

// The driver's process dies while it stages, and stays away while the kubelet tries again: the kubelet takes that for
// final and forgets the volume. Seen in u04a_capabilities_unanswered_after_uncertain_stage.
func TestAVolumeInDoubtIsForgottenIfTheDriverCannotSayWhatItCan(t *testing.T) {
	testUnanswered(t, volumemanager.Decisions{}, "NodeStageVolume", func(w *world) { require.Len(t, w.driver.staged, 1) })
	testUnanswered(t, volumemanager.Decisions{}, "NodePublishVolume", func(w *world) { w.requireNothingLeft() })
}

// With the switch it stays in doubt, and is unmounted.
func TestAVolumeInDoubtStaysSoWhileTheDriverCannotSayWhatItCan(t *testing.T) {
	final := func(err error) bool {
		_, unanswered := errors.AsType[*volume.UnansweredError](err)
		return !unanswered && volume.IsFinal(err)
	}
	for _, method := range []string{"NodeStageVolume", "NodePublishVolume"} {
		testUnanswered(t, volumemanager.Decisions{Final: final}, method, func(w *world) { w.requireNothingLeft() })
	}
}

// testUnanswered has the driver's process die in a method, and not answer the kubelet's next questions. Then the
// pod is deleted, and the driver is back.
func testUnanswered(t *testing.T, decisions volumemanager.Decisions, method string, check func(w *world)) {
	for _, code := range []codes.Code{codes.Unavailable, codes.Internal} {
		w := withKubelet(t, engine.Config{}, noAttach(), decisions)
		down := false
		w.driver.after = func(called string, _ any) error {
			if called == method {
				down = true
				return status.Error(codes.Unavailable, "it dies")
			}
			return nil
		}
		w.driver.before = func(called string, _ any) error {
			if down && called == "NodeGetCapabilities" {
				return status.Error(code, "it is not there")
			}
			return nil
		}
		w.boundVolume("data", nil)
		w.create(pod("web", claim("data")))
		w.run(15 * time.Second)
		require.True(t, down)
		w.delete("web")
		w.run(5 * time.Second)
		w.driver.before, w.driver.after = nil, nil
		w.run(10 * time.Minute)
		require.Equal(t, v1.PodPhase("gone"), w.phase("web"))
		check(w)
	}
}

// A pod's worker waits for the container runtime before it ends a pod, and the volume
// manager goes on meanwhile. Seen in csi07h_stage_final_error_pod_deleted, and in one of the
// runs of csi21_pod_deleted_while_attaching.
func TestAVolumeIsTriedAgainUntilThePodThatWaitedForItHasEnded(t *testing.T) {
	for name, after := range map[string]struct {
		wait  time.Duration // from the pod's creation to its deletion
		tries int
	}{
		"a try is due before the end":   {3 * time.Second, 4}, // after 0, 0.5, 1.5 and 3.5 s
		"a try is due only afterwards":  {4 * time.Second, 4}, // the next were after 7.5 s
		"two tries are due before that": {400 * time.Millisecond, 3},
	} {
		t.Run(name, func(t *testing.T) {
			w := withDriver(t, engine.Config{}, noAttach())
			tries := 0
			w.driver.before = func(method string, _ any) error {
				if method == "NodeStageVolume" {
					tries++
					return status.Error(codes.InvalidArgument, "no")
				}
				return nil
			}
			w.boundVolume("data", nil)
			w.create(pod("web", claim("data")))
			w.run(after.wait)
			w.delete("web")
			w.run(900 * time.Millisecond)
			require.NotEqual(t, v1.PodPhase("gone"), w.phase("web"), "at least one look at the runtime")
			w.run(1200 * time.Millisecond)
			require.Equal(t, v1.PodPhase("gone"), w.phase("web"), "at most two seconds")
			w.run(10 * time.Minute)
			require.Equal(t, after.tries, tries)
			w.requireNothingLeft()
		})
	}
}

func TestAVolumeThatIsMountedAfterItsPodWasDeletedIsTakenAwayAgain(t *testing.T) {
	w := withDriver(t, engine.Config{}, noAttach())
	fail := true
	w.driver.before = func(method string, _ any) error {
		if method == "NodeStageVolume" && fail {
			return status.Error(codes.InvalidArgument, "no")
		}
		return nil
	}
	w.boundVolume("data", nil)
	w.create(pod("web", claim("data")))
	w.run(3 * time.Second)
	fail = false
	w.delete("web")
	w.run(time.Minute)
	require.Equal(t, v1.PodPhase("gone"), w.phase("web"))
	calls := w.driver.calls[len(w.driver.calls)-4:]
	require.Equal(t, []string{"NodeStageVolume", "NodePublishVolume", "NodeUnpublishVolume", "NodeUnstageVolume"}, calls)
	w.requireNothingLeft()
}

// A pod that is deleted by force while its kubelet is down is known to the container
// runtime alone. Seen in csi08b_node_dead_force_delete.
func TestAPodOfWhichOnlyTheRuntimeKnowsIsKilledWithAnEvent(t *testing.T) {
	w := withDriver(t, engine.Config{}, noAttach())
	w.boundVolume("data", nil)
	w.create(pod("web", claim("data")))
	w.run(5 * time.Second)
	require.Equal(t, v1.PodRunning, w.phase("web"))
	require.NoError(t, w.e.Stop(actor))
	require.NoError(t, w.user.CoreV1().Pods("default").Delete(t.Context(), "web", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
	require.NoError(t, w.e.Start(actor))
	w.run(time.Minute)
	events, err := w.user.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	killed := 0
	for _, e := range events.Items {
		if e.Reason == "Killing" {
			killed++
			require.Equal(t, "web", e.InvolvedObject.Name)
			require.Equal(t, "Stopping container c", e.Message)
		}
	}
	require.Equal(t, 1, killed)
	w.requireNothingLeft()
}
