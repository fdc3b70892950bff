package csi_test

import (
	"slices"
	"testing"
	"time"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/engine"
)

const blockDir = "/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices/"

func blockVolume(pv *v1.PersistentVolume) {
	mode := v1.PersistentVolumeBlock
	pv.Spec.VolumeMode = &mode
}

// devicePod returns a pod that has the raw device of a claim.
func devicePod(name, claimName string) *v1.Pod {
	p := pod(name, claim(claimName))
	p.Spec.Containers[0].VolumeMounts = nil
	p.Spec.Containers[0].VolumeDevices = []v1.VolumeDevice{{Name: claimName, DevicePath: "/dev/xvda"}}
	return p
}

func (w *world) withDevice() *v1.Pod {
	w.t.Helper()
	w.boundVolume("data", blockVolume)
	p := w.create(devicePod("web", "data"))
	w.run(5 * time.Second)
	require.Equal(w.t, v1.PodRunning, w.phase("web"), "%v", w.events("web"))
	return p
}

// semantics 5.5 (4) and 10 (26).
func TestARawDeviceIsStagedAndPublishedAndMapped(t *testing.T) {
	w := withDriver(t, engine.Config{}, noAttach())
	p := w.withDevice()
	stage, publish := w.stageRequest(), w.publishRequest()
	require.Equal(t, blockDir+"staging/pv-data", stage.StagingTargetPath)
	require.Equal(t, stage.StagingTargetPath, publish.StagingTargetPath)
	require.Equal(t, blockDir+"publish/pv-data/"+string(p.UID), publish.TargetPath)
	for _, c := range []*csipb.VolumeCapability{stage.VolumeCapability, publish.VolumeCapability} {
		require.NotNil(t, c.GetBlock())
		require.Nil(t, c.GetMount())
		require.Equal(t, csipb.VolumeCapability_AccessMode_SINGLE_NODE_WRITER, c.AccessMode.Mode)
	}
	names, err := w.disk.List(blockDir + "pv-data")
	require.NoError(t, err)
	require.Equal(t, []string{"data/", "dev/"}, names)

	events, err := w.user.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	mapped := 0
	for _, e := range events.Items {
		if e.Reason == "SuccessfulMountVolume" {
			mapped++
		}
	}
	require.Equal(t, 2, mapped)

	w.delete("web")
	w.run(time.Minute)
	require.Equal(t, []string{"NodeUnpublishVolume", "NodeUnstageVolume"}, w.driver.calls[len(w.driver.calls)-2:])
	w.requireNothingLeft()
}

func TestARestartedKubeletTakesARawDeviceAwayWhosePodWasDeleted(t *testing.T) {
	for name, gone := range map[string]bool{"with its pod": true, "before its pod": false} {
		t.Run(name, func(t *testing.T) {
			w := withDriver(t, engine.Config{}, noAttach())
			w.withDevice()
			require.NoError(t, w.e.Stop(actor))
			if gone {
				require.NoError(t, w.user.CoreV1().Pods("default").Delete(t.Context(), "web", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
			}
			require.NoError(t, w.e.Start(actor))
			w.run(30 * time.Second)
			if !gone {
				require.Len(t, w.driver.published, 1)
				w.delete("web")
			}
			w.run(3 * time.Minute)
			w.requireNothingLeft()
		})
	}
}

func TestWhatFailsOfARawDeviceIsFailedMapVolumeAndTriedAgain(t *testing.T) {
	for _, method := range []string{"NodeStageVolume", "NodePublishVolume"} {
		w := withDriver(t, engine.Config{}, noAttach())
		failures := 2
		w.driver.before = func(called string, _ any) error {
			if called == method && failures > 0 {
				failures--
				return internal
			}
			return nil
		}
		w.boundVolume("data", blockVolume)
		w.create(devicePod("web", "data"))
		w.run(10 * time.Second)
		require.Equal(t, v1.PodRunning, w.phase("web"))
		require.True(t, slices.ContainsFunc(w.events("web"), func(e string) bool {
			return e == `FailedMapVolume: MapVolume.`+map[string]string{"NodeStageVolume": "SetUpDevice", "NodePublishVolume": "MapPodDevice"}[method]+
				` failed for volume "pv-data" : rpc error: code = Internal desc = no luck`
		}), "%v", w.events("web"))
		w.delete("web")
		w.run(time.Minute)
		w.requireNothingLeft()
	}
}
