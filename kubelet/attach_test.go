package kubelet_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/kubelet/local"
	"github.com/storagesim/storagesim/kubelet/volumemanager"
	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/volume"
)

func newAttachable() []volume.VolumePlugin {
	return []volume.VolumePlugin{&attachablePlugin{local.NewPlugin()}}
}

// attachablePlugin is the local plugin with volumes that must be attached first.
type attachablePlugin struct{ volume.VolumePlugin }

func (p *attachablePlugin) CanAttach(*volume.Spec) (bool, error) { return true, nil }

const uniqueName = v1.UniqueVolumeName("kubernetes.io/local-volume/pv-data")

func (w *world) nodeStatus() v1.NodeStatus {
	w.t.Helper()
	node, err := w.user.CoreV1().Nodes().Get(context.Background(), "node-1", metav1.GetOptions{})
	require.NoError(w.t, err)
	return node.Status
}

// attach plays the attach/detach controller.
func (w *world) attach(names ...v1.UniqueVolumeName) {
	w.t.Helper()
	node, err := w.user.CoreV1().Nodes().Get(context.Background(), "node-1", metav1.GetOptions{})
	require.NoError(w.t, err)
	node.Status.VolumesAttached = nil
	for _, name := range names {
		node.Status.VolumesAttached = append(node.Status.VolumesAttached, v1.AttachedVolume{Name: name})
	}
	_, err = w.user.CoreV1().Nodes().UpdateStatus(context.Background(), node, metav1.UpdateOptions{})
	require.NoError(w.t, err)
}

// semantics 5 must 10, and 5.2: volumesInUse.
func TestAnAttachableVolumeIsReportedInUseAndMountedWhenItIsAttached(t *testing.T) {
	w := newWorld(t, engine.Config{}, kubelet.Config{Plugins: newAttachable})
	w.boundVolume("data", nil)
	w.create(pod("web", claim("data")))
	require.NoError(t, w.e.RunFor(10*time.Minute))
	require.Equal(t, []v1.UniqueVolumeName{uniqueName}, w.nodeStatus().VolumesInUse)
	require.Equal(t, v1.PodPending, w.get("web").Status.Phase)
	require.Empty(t, w.mounts())
	require.Contains(t, w.trace(), "unmounted volumes=[data], unattached volumes=[data], failed to process volumes=[]: context deadline exceeded")

	w.attach(uniqueName)
	require.NoError(t, w.e.RunFor(3*time.Minute))
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)

	require.NoError(t, w.e.Crash(actor))
	w.settle()
	require.Equal(t, []v1.UniqueVolumeName{uniqueName}, w.nodeStatus().VolumesInUse, "a restart changes nothing")
	w.delete("web")
	w.settle()
	require.Empty(t, w.nodeStatus().VolumesInUse, "it is safely unmounted")
	w.requireNothingLeft()
}

func TestAVolumeInUseIsSaidToBeUntilItIsUnmountedEvenIfTheKubeletWasDown(t *testing.T) {
	w := newWorld(t, engine.Config{}, kubelet.Config{Plugins: newAttachable})
	w.boundVolume("data", nil)
	w.create(pod("web", claim("data")))
	w.settle()
	w.attach(uniqueName)
	require.NoError(t, w.e.RunFor(3*time.Minute))
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
	require.NoError(t, w.e.Hold(actor, "pods"))
	require.NoError(t, w.e.Crash(actor))
	w.delete("web", 0)
	require.NoError(t, w.e.RunFor(time.Minute))
	require.Equal(t, []v1.UniqueVolumeName{uniqueName}, w.nodeStatus().VolumesInUse)
	require.NoError(t, w.e.Release(actor, "pods"))
	require.NoError(t, w.e.RunFor(time.Minute))
	require.Empty(t, w.nodeStatus().VolumesInUse)
	w.requireNothingLeft()
}

// Upstream: kubelet_node_status.go tryUpdateNodeStatus, v1.37.
func TestVolumesInUseAreReportedOfANodeThatIsThere(t *testing.T) {
	w := newWorld(t, engine.Config{}, kubelet.Config{Plugins: newAttachable})
	w.boundVolume("data", nil)
	w.settle()
	require.NoError(t, w.user.CoreV1().Nodes().Delete(context.Background(), "node-1", metav1.DeleteOptions{}))
	w.create(pod("web", claim("data")))
	require.NoError(t, w.e.RunFor(time.Hour))
	_, err := w.user.CoreV1().Nodes().Get(context.Background(), "node-1", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "it is not for a status that it is made again: %v", err)
	require.NoError(t, w.e.Crash(actor))
	w.settle()
	require.Equal(t, []v1.UniqueVolumeName{uniqueName}, w.nodeStatus().VolumesInUse)
}

// Bug 32. Seen in u08c_node_object_deleted.
func TestANodeThatIsMadeAnewHasNoVolumesInUse(t *testing.T) {
	for _, keep := range []bool{false, true} {
		w := newWorld(t, engine.Config{}, kubelet.Config{Plugins: newAttachable, Decisions: volumemanager.Decisions{KeepInUse: keep}})
		w.boundVolume("data", nil)
		w.create(pod("web", claim("data")))
		w.settle()
		w.attach(uniqueName)
		require.NoError(t, w.e.RunFor(3*time.Minute))
		require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
		require.NoError(t, w.e.Stop(actor))
		w.delete("web", 0)
		require.NoError(t, w.user.CoreV1().Nodes().Delete(context.Background(), "node-1", metav1.DeleteOptions{}))
		require.NoError(t, w.e.Start(actor))
		var first []v1.UniqueVolumeName
		w.e.Server().OnWrite(func(write trace.Write) {
			if node, ok := write.New.(*v1.Node); ok && write.Verb == "create" && write.Err == nil {
				first = node.Status.VolumesInUse
			}
		})
		require.NoError(t, w.e.RunFor(time.Second))
		require.Len(t, w.mounts(), 1, "nothing is unmounted in the first second")
		want := []v1.UniqueVolumeName{uniqueName}
		if !keep {
			want = nil
		}
		require.Equal(t, want, first)
		require.Equal(t, want, w.nodeStatus().VolumesInUse)
		require.NoError(t, w.e.RunFor(time.Minute))
		require.Empty(t, w.nodeStatus().VolumesInUse)
		w.requireNothingLeft()
	}
}

// Upstream writes it to its log every two minutes and three seconds: no event; this part
// of kubelet.go SyncPod is easily forgotten.
func TestWhichVolumesAPodLacksIsToldToTheTraceAgainAndAgain(t *testing.T) {
	w := simple(t)
	w.boundVolume("other", nil) // whose directory is missing
	w.boundVolume("data", nil)
	w.create(pod("web", claim("other"), claim("data")))
	told := func() int {
		return strings.Count(w.trace(), "unmounted volumes=[other], unattached volumes=[], failed to process volumes=[]: context deadline exceeded")
	}
	require.NoError(t, w.e.RunFor(2*time.Minute))
	require.Zero(t, told())
	require.NoError(t, w.e.RunFor(4*time.Second))
	require.Equal(t, 1, told())
	require.NoError(t, w.e.RunFor(20*time.Minute))
	require.InDelta(t, 10, told(), 1)
	for _, event := range w.events("web") {
		require.Contains(t, event, `FailedMount: MountVolume.NewMounter initialization failed for volume "pv-other"`)
	}
	require.NoError(t, w.node.MkdirAll("/disk/other", 0o755))
	require.NoError(t, w.e.RunFor(3*time.Minute))
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
	before := told()
	require.NoError(t, w.e.RunFor(20*time.Minute))
	require.Equal(t, before, told(), "it has them all")
}

// Conformance: the csi cases of full/, whose volumesInUse comes up to 10 s after the pod.
func TestVolumesInUseAreWrittenWithTheNodesStatusOnly(t *testing.T) {
	w := newWorld(t, engine.Config{}, kubelet.Config{Plugins: newAttachable})
	w.boundVolume("data", nil)
	require.NoError(t, w.e.RunFor(23*time.Second))
	w.create(pod("web", claim("data")))
	require.NoError(t, w.e.RunFor(6*time.Second))
	require.Empty(t, w.nodeStatus().VolumesInUse)
	require.NoError(t, w.e.RunFor(2*time.Second))
	require.Equal(t, []v1.UniqueVolumeName{uniqueName}, w.nodeStatus().VolumesInUse)
	require.Equal(t, "0:00:30", w.said("patches node node-1 status: volumesInUse"), "30 s after the kubelet's start")
	w.attach(uniqueName)
	require.NoError(t, w.e.RunFor(5*time.Second))
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase, "until it was reported nothing failed, so the next attempt is not far away")
	w.delete("web")
	w.settle()
	require.Empty(t, w.nodeStatus().VolumesInUse)
	last := w.e.Trace().Tail(1)[0]
	require.Zero(t, last.Time.Sub(engine.Start())%(10*time.Second))
	require.Equal(t, 2, strings.Count(w.trace(), "patches node node-1 status: volumesInUse"), "when nothing is new nobody writes")
}

// said returns the time of the first record in the trace whose sentence has text.
func (w *world) said(text string) string {
	for _, entry := range w.e.Trace().Entries() {
		if strings.Contains(entry.Record.String(), text) {
			return fmt.Sprintf("0:00:%02d", int(entry.Time.Sub(engine.Start()).Seconds()))
		}
	}
	return "never"
}

// Conformance: csi07f and csi08b, in which a volume that was attached after 68 s and after
// 6 minutes was mounted 0.2 s after the node's status said so.
func TestAVolumeThatIsAttachedLateIsMountedAtOnce(t *testing.T) {
	w := newWorld(t, engine.Config{}, kubelet.Config{Plugins: newAttachable})
	w.boundVolume("data", nil)
	w.create(pod("web", claim("data")))
	require.NoError(t, w.e.RunFor(7*time.Minute))
	w.attach("kubernetes.io/local-volume/another")
	require.NoError(t, w.e.RunFor(time.Minute))
	require.Equal(t, v1.PodPending, w.get("web").Status.Phase)
	w.attach(uniqueName)
	require.NoError(t, w.e.RunFor(time.Second))
	require.Len(t, w.mounts(), 1)
	require.NoError(t, w.e.RunFor(time.Second))
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)

	// A kubelet that starts again finds it attached.
	require.NoError(t, w.e.Crash(actor))
	w.settle()
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
	w.delete("web")
	w.settle()
	require.Empty(t, w.nodeStatus().VolumesInUse)
	w.requireNothingLeft()
}
