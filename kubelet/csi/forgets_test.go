package csi_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/kubelet/volumemanager"
)

// Bug 31 (kubernetes/kubernetes 121937): a kubelet that starts looks into the directories of pods only. Seen in
// u01a_kubelet_restart_while_unstage_hangs and u01g_block_kubelet_restart_while_unstage_hangs.
func TestWhatIsStagedIsForgottenByTheNextKubelet(t *testing.T) {
	for _, found := range []bool{false, true} {
		for _, block := range []bool{false, true} {
			w := withKubelet(t, engine.Config{}, noAttach(), volumemanager.Decisions{FindStaged: found})
			p := pod("web", claim("data"))
			if block {
				w.boundVolume("data", blockVolume)
				p = devicePod("web", "data")
			} else {
				w.boundVolume("data", nil)
			}
			w.create(p)
			w.run(5 * time.Second)
			require.Equal(t, v1.PodRunning, w.phase("web"))
			w.driver.before = func(method string, _ any) error {
				if method == "NodeUnstageVolume" {
					return status.Error(codes.Internal, "not now")
				}
				return nil
			}
			w.delete("web")
			w.run(time.Minute)
			require.Equal(t, v1.PodPhase("gone"), w.phase("web"), "it goes before its volume is unstaged")
			require.Len(t, w.driver.staged, 1)
			require.NoError(t, w.e.Crash(actor))
			w.driver.before = nil
			w.run(10 * time.Minute)
			if found {
				w.requireNothingLeft()
			} else {
				require.Len(t, w.driver.staged, 1, "nothing unstages it")
			}
		}
	}
}

// Bug 31: the next pod of the volume heals it by chance.
func TestAForgottenVolumeIsUnstagedAfterTheNextPodOfItsNode(t *testing.T) {
	w := withDriver(t, engine.Config{}, noAttach())
	w.boundVolume("data", nil)
	w.create(pod("web", claim("data")))
	w.run(5 * time.Second)
	w.driver.before = func(method string, _ any) error {
		if method == "NodeUnstageVolume" {
			return status.Error(codes.Internal, "not now")
		}
		return nil
	}
	w.delete("web")
	w.run(time.Minute)
	require.NoError(t, w.e.Crash(actor))
	w.driver.before = nil
	w.run(time.Minute)
	require.Len(t, w.driver.staged, 1)
	w.create(pod("again", claim("data")))
	w.run(5 * time.Second)
	w.delete("again")
	w.run(time.Minute)
	w.requireNothingLeft()
}
