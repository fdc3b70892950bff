package kubelet_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/trace"
)

func limited(p *v1.Pod, seconds int64) *v1.Pod {
	p.Spec.ActiveDeadlineSeconds = &seconds
	return p
}

// Such a pod is synced once: by then nothing was written of its start.
func TestAPodWithoutVolumesIsNotActiveForTooLong(t *testing.T) {
	w := simple(t)
	w.create(limited(pod("web"), 100))
	w.settle()
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
	require.NoError(t, w.e.RunFor(101*time.Second))
	require.Equal(t, "DeadlineExceeded", w.get("web").Status.Reason)
}

func TestAPodThatIsActiveForTooLongFails(t *testing.T) {
	for name, crash := range map[string]bool{"": false, "with a crash": true} {
		t.Run(name, func(t *testing.T) {
			w := simple(t)
			w.boundVolume("data", nil)
			w.create(limited(pod("web", claim("data")), 100))
			w.settle()
			require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
			require.Less(t, w.e.Now().Sub(engine.Start()), 10*time.Second, "nobody waits for the deadline")
			if crash {
				require.NoError(t, w.e.Crash(actor))
			}
			require.NoError(t, w.e.RunFor(99*time.Second))
			require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
			require.NoError(t, w.e.RunFor(2*time.Second))
			p := w.get("web")
			require.Equal(t, v1.PodFailed, p.Status.Phase)
			require.Equal(t, "DeadlineExceeded", p.Status.Reason)
			require.Equal(t, "Pod was active on the node longer than the specified deadline", p.Status.Message)
			require.NotNil(t, p.Status.ContainerStatuses[0].State.Terminated)
			ready := p.Status.Conditions[0]
			require.Equal(t, "PodReadyToStartContainers False: pod sandbox is not ready", fmt.Sprintf("%s %s: %s", ready.Type, ready.Status, ready.Message))
			w.requireEvent("web", "DeadlineExceeded", "Pod was active on the node longer than the specified deadline")
			require.Empty(t, w.mounts(), "an ended pod has no volumes")
			if crash { // Conformance: made/resources
				said := w.emitted("DeadlineExceeded")
				require.NotEmpty(t, p.Status.PodIP)
				require.NoError(t, w.e.Crash(actor))
				w.settle()
				p = w.get("web")
				require.Empty(t, p.Status.PodIP, "its sandbox is stopped, and only an earlier life knew the address")
				require.Equal(t, "DeadlineExceeded", p.Status.Reason)
				require.Equal(t, said+1, w.emitted("DeadlineExceeded"))
			}
			w.delete("web")
			w.settle()
			w.requireNothingLeft()
		})
	}
}

// Its worker waits twice for the runtime until nothing of the pod can run.
// Conformance: made/deadline_over_while_waiting.
func TestAPodThatWaitsForItsVolumesForTooLongFailsToo(t *testing.T) {
	w := newWorld(t, engine.Config{}, kubelet.Config{})
	w.create(limited(pod("web", claim("missing")), 60))
	require.NoError(t, w.e.RunFor(61*time.Second))
	status := w.get("web").Status
	require.Equal(t, v1.PodPending, status.Phase)
	require.Equal(t, "PodFailed", status.Conditions[2].Reason)
	require.NoError(t, w.e.RunFor(2*time.Second))
	status = w.get("web").Status
	require.Equal(t, v1.PodFailed, status.Phase)
	require.Equal(t, "DeadlineExceeded", status.Reason)
	require.Equal(t, int32(137), status.ContainerStatuses[0].State.Terminated.ExitCode)
	w.delete("web")
	w.settle()
	w.requireNothingLeft()
}

// A container that was never created counts as ended when the pod's volumes are unmounted, an init container too.
// Upstream: status_manager.go TerminatePod, v1.37.2. Conformance: made/deadline_container_waits.
func TestContainersThatWaitEndWithAPodThatIsActiveForTooLong(t *testing.T) {
	missing := []v1.EnvVar{{Name: "E", ValueFrom: &v1.EnvVarSource{ConfigMapKeyRef: &v1.ConfigMapKeySelector{
		LocalObjectReference: v1.LocalObjectReference{Name: "none"}, Key: "a",
	}}}}
	w := simple(t)
	p := limited(pod("web"), 60)
	p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: "d", Image: "busybox", Env: missing})
	w.create(p)
	p = limited(pod("init"), 60)
	p.Spec.InitContainers = []v1.Container{{Name: "i", Image: "busybox", Env: missing}}
	w.create(p)
	require.NoError(t, w.e.RunFor(61*time.Second))
	ended := func(s v1.ContainerStatus) {
		t.Helper()
		require.NotNil(t, s.State.Terminated)
		require.Equal(t, "ContainerStatusUnknown", s.State.Terminated.Reason)
	}
	status := w.get("web").Status
	require.Equal(t, v1.PodFailed, status.Phase)
	require.Equal(t, int32(0), status.ContainerStatuses[0].State.Terminated.ExitCode)
	ended(status.ContainerStatuses[1])
	status = w.get("init").Status
	require.Equal(t, v1.PodFailed, status.Phase)
	ended(status.InitContainerStatuses[0])
	require.NotNil(t, status.ContainerStatuses[0].State.Waiting, "it had no turn")
}

// A sync that waits for volumes goes on when they are mounted, and the next one finds the pod past its deadline. If they are not mounted in time, the sync
// after the wait finds it.
// Conformance: a pod with 6 s whose volume was mounted after 5.7 s, which the kubelet noticed after 6.05 s.
func TestADeadlineIsLookedAtWhenASyncBegins(t *testing.T) {
	for name, c := range map[string]struct {
		mounted time.Duration
		started int
	}{"mounted late": {63 * time.Second, 1}, "never mounted": {time.Hour, 0}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, engine.Config{}, kubelet.Config{})
			w.boundVolume("data", func(pv *v1.PersistentVolume) { pv.Spec.Local.Path = "/later" })
			w.create(limited(pod("web", claim("data")), 60))
			require.NoError(t, w.e.RunFor(61*time.Second))
			require.Equal(t, v1.PodPending, w.get("web").Status.Phase)
			if c.mounted < time.Hour {
				require.NoError(t, w.node.MkdirAll("/later", 0o755))
			}
			require.NoError(t, w.e.RunFor(2*time.Minute))
			p := w.get("web")
			require.Equal(t, "DeadlineExceeded", p.Status.Reason)
			require.Equal(t, c.started, w.emitted("Started"))
			w.delete("web")
			w.settle()
			w.requireNothingLeft()
		})
	}
}

func TestAPodThatEndsInTimeIsLeftAlone(t *testing.T) {
	w := simple(t)
	w.create(limited(helper(pod("web", hostPath("srv", "/srv", v1.HostPathDirectoryOrCreate)), "mkdir", "/srv/x"), 60))
	require.NoError(t, w.e.RunFor(time.Hour))
	require.Equal(t, v1.PodSucceeded, w.get("web").Status.Phase)
	require.Empty(t, w.get("web").Status.Reason)
}

// emitted returns how often an event was emitted.
func (w *world) emitted(reason string) (times int) {
	for _, entry := range w.e.Trace().Entries() {
		if e, ok := entry.Record.(trace.Event); ok && e.Reason == reason {
			times++
		}
	}
	return times
}
