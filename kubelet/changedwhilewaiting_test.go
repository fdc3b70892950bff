package kubelet_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/kubelet"
)

func (w *world) patchPod(name, patch string, subresource ...string) {
	w.t.Helper()
	pods := w.user.CoreV1().Pods("default")
	_, err := pods.Patch(context.Background(), name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, subresource...)
	require.NoError(w.t, err)
}

// waitingWorld has a pod that waits for a directory that is not there.
func waitingWorld(t *testing.T, change func(*v1.Pod)) *world {
	w := newWorld(t, engine.Config{}, kubelet.Config{})
	w.boundVolume("data", func(pv *v1.PersistentVolume) { pv.Spec.Local.Path = "/later" })
	p := pod("web", claim("data"))
	change(p)
	w.create(p)
	require.NoError(t, w.e.RunFor(10*time.Second))
	require.Equal(t, v1.PodPending, w.get("web").Status.Phase)
	return w
}

// The sync that waits goes on with the pod as it was when it began, and the next one comes at once.
// Upstream: pod_workers.go UpdatePod, which leaves the update pending, and completeWork, v1.37.2.
func TestAPodThatChangesWhileItWaitsBeginsAsItWas(t *testing.T) {
	w := waitingWorld(t, func(*v1.Pod) {})
	w.patchPod("web", `{"spec":{"containers":[{"name":"c","image":"busybox:2"}]}}`)
	require.NoError(t, w.e.RunFor(10*time.Second))
	require.Equal(t, int64(1), w.get("web").Status.ObservedGeneration, "nothing has seen the change")
	require.NoError(t, w.node.MkdirAll("/later", 0o755))
	require.NoError(t, w.e.RunFor(time.Minute+time.Second))
	w.requireEvent("web", "Killing", "Container c definition changed, will be restarted")
	status := w.get("web").Status
	require.Equal(t, int64(2), status.ObservedGeneration)
	require.Equal(t, "busybox:2", status.ContainerStatuses[0].Image)
	require.Equal(t, int32(1), status.ContainerStatuses[0].RestartCount)
}

// An ephemeral container may use a volume that no other container does.
// Upstream: volume_manager.go WaitForAttachAndMount, which calls ReprocessPod, v1.37.2.
func TestAnEphemeralContainerUsesAVolumeThatNoneUsed(t *testing.T) {
	const debugger = `{"spec":{"ephemeralContainers":[{"name":"dbg","image":"busybox","volumeMounts":[{"name":"host","mountPath":"/host"}]}]}}`
	unused := func(p *v1.Pod) {
		p.Spec.Volumes = append(p.Spec.Volumes, hostPath("host", "/srv", v1.HostPathDirectoryOrCreate))
	}
	running := func(w *world) bool {
		list := w.get("web").Status.EphemeralContainerStatuses
		return len(list) == 1 && list[0].State.Running != nil
	}
	for name, waits := range map[string]bool{"of a pod that runs": false, "of one that waits": true} {
		t.Run(name, func(t *testing.T) {
			w := waitingWorld(t, unused)
			if waits {
				w.patchPod("web", debugger, "ephemeralcontainers")
				require.NoError(t, w.e.RunFor(10*time.Second))
				require.Empty(t, w.get("web").Status.EphemeralContainerStatuses)
			}
			require.NoError(t, w.node.MkdirAll("/later", 0o755))
			require.NoError(t, w.e.RunFor(time.Minute))
			if !waits {
				w.patchPod("web", debugger, "ephemeralcontainers")
			}
			require.NoError(t, w.e.RunFor(10*time.Second))
			require.True(t, running(w))
			require.Zero(t, w.emitted("Failed"))
		})
	}
}

// The sync of a pod that runs waits, too: meanwhile nothing is begun, ended or told.
// Conformance: made/running_pod_waits.
func TestAPodThatRunsWaitsForAnotherVolume(t *testing.T) {
	w := simple(t)
	p := limited(pod("web"), 60)
	p.Spec.Volumes = append(p.Spec.Volumes, hostPath("host", "/later", v1.HostPathDirectory),
		v1.Volume{Name: "e", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}})
	w.create(p)
	w.settle()
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
	for _, volume := range []string{"host", "e"} {
		const debugger = `{"spec":{"ephemeralContainers":[{"name":"of-%[1]s","image":"busybox","volumeMounts":[{"name":"%[1]s","mountPath":"/n"}]}]}}`
		w.patchPod("web", fmt.Sprintf(debugger, volume), "ephemeralcontainers")
		require.NoError(t, w.e.RunFor(time.Second))
	}
	w.patchPod("web", `{"spec":{"containers":[{"name":"c","image":"busybox:2"}]}}`)
	require.NoError(t, w.e.RunFor(59*time.Second))
	status := w.get("web").Status
	require.Equal(t, v1.PodRunning, status.Phase, "its deadline is not looked at")
	require.Zero(t, status.ContainerStatuses[0].RestartCount)
	require.NoError(t, w.node.MkdirAll("/later", 0o755))
	require.NoError(t, w.e.RunFor(time.Minute))
	require.Equal(t, "DeadlineExceeded", w.get("web").Status.Reason)
	require.Equal(t, 2, w.emitted("Started"), "the one that waited has begun")
}

// A wait takes 123 s. The next sync comes 10 s later, or at once if the pod has changed or is past its deadline.
// Upstream: pod_workers.go completeWork, kubelet.go syncLoopIteration, v1.37.2.
func TestASyncThatTimedOutIsFollowedAtOnceByThatOfAChange(t *testing.T) {
	for name, c := range map[string]struct {
		label, deadline bool
		after           time.Duration
	}{
		"it has not changed":       {after: 133 * time.Second},
		"its label has":            {label: true, after: 123 * time.Second},
		"it is past its deadline":  {deadline: true, after: 123 * time.Second},
		"it changes after the end": {after: 125 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			began := engine.Start()
			w := waitingWorld(t, func(p *v1.Pod) {
				if c.deadline {
					limited(p, 60)
				}
			})
			if c.label {
				w.patchPod("web", `{"metadata":{"labels":{"a":"b"}}}`)
			}
			image := `{"spec":{"containers":[{"name":"c","image":"busybox:2"}]}}`
			synced := func() bool {
				s := w.get("web").Status
				return s.ObservedGeneration == 2 || s.Phase == v1.PodFailed
			}
			until := func(d time.Duration) { require.NoError(t, w.e.RunFor(d-w.e.Now().Sub(began))) }
			switch {
			case c.after == 125*time.Second:
				until(c.after)
				w.patchPod("web", image)
				until(c.after + time.Second)
				require.True(t, synced())
				return
			case !c.label && !c.deadline: // the directory comes while the pod backs off
				until(125 * time.Second)
				require.NoError(t, w.node.MkdirAll("/later", 0o755))
				until(c.after - 2*time.Second)
				require.Equal(t, v1.PodPending, w.get("web").Status.Phase)
				until(c.after + 2*time.Second)
				return
			case c.label:
				w.patchPod("web", image)
			}
			until(c.after - 2*time.Second)
			require.False(t, synced())
			until(c.after + 2*time.Second)
			require.True(t, synced())
		})
	}
}
