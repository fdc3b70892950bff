package kubelet_test

import (
	"errors"
	"io/fs"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagesim/storagesim/engine"
)

// refuseStatuses refuses all writes of a pod's status until the faults are cleared.
func (w *world) refuseStatuses() {
	w.t.Helper()
	fault := engine.Fault{Actor: actor, Verb: "patch", Resource: "pods/status", Times: 100000, Err: errors.New("it is full")}
	require.NoError(w.t, w.e.Inject(fault))
}

// withScratch adds an emptyDir volume to a pod, at /scratch.
func withScratch(p *v1.Pod, limit string) *v1.Pod {
	size := resource.MustParse(limit)
	p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{
		Name: "scratch", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{SizeLimit: &size}},
	})
	c := &p.Spec.Containers[0]
	c.VolumeMounts = append(c.VolumeMounts, v1.VolumeMount{Name: "scratch", MountPath: "/scratch"})
	return p
}

func (w *world) hasScratch(p *v1.Pod) bool {
	w.t.Helper()
	_, err := w.node.Stat("/var/lib/kubelet/pods/" + string(p.UID) + "/volumes/kubernetes.io~empty-dir/scratch")
	if err != nil {
		require.ErrorIs(w.t, err, fs.ErrNotExist)
	}
	return err == nil
}

// Upstream: kubelet.go SyncPod, which does not wait for status_manager.go, and Start there, which tries again every ten seconds, v1.37.2.
func TestAPodThatEndsByItselfGivesUpItsVolumesAlthoughItsStatusCannotBeWritten(t *testing.T) {
	w := simple(t)
	p := running("web", "sleep 20; exit 3")
	p.Spec.RestartPolicy = v1.RestartPolicyNever
	p = w.create(withScratch(p, "1Mi"))
	require.NoError(t, w.e.RunFor(10*time.Second))
	require.True(t, w.hasScratch(p))
	w.refuseStatuses()
	require.NoError(t, w.e.RunFor(10*time.Minute))
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
	require.False(t, w.hasScratch(p))
	w.e.ClearFaults()
	require.NoError(t, w.e.RunFor(10*time.Second), "however long it was refused")
	status := w.get("web").Status
	require.Equal(t, v1.PodFailed, status.Phase)
	require.EqualValues(t, 3, status.ContainerStatuses[0].State.Terminated.ExitCode)
	w.delete("web")
	w.settle()
	w.requireNothingLeft()
}

// Upstream: kuberuntime_manager.go SyncPod and doBackOff, v1.37.2.
func TestAContainerIsRestartedAlthoughTheStatusOfItsPodCannotBeWritten(t *testing.T) {
	runs := func(refused bool) string {
		w := simple(t)
		if refused {
			w.refuseStatuses()
		}
		w.create(running("web", "date +%s >> /data/log; sleep 1; exit 1"))
		require.NoError(t, w.e.RunFor(2*time.Minute))
		require.Equal(t, refused, w.get("web").Status.Phase == v1.PodPending)
		w.e.ClearFaults()
		require.NoError(t, w.e.RunFor(3*time.Minute))
		require.GreaterOrEqual(t, w.get("web").Status.ContainerStatuses[0].RestartCount, int32(4))
		return w.onDisk("/srv/log")
	}
	require.Equal(t, runs(false), runs(true))
}

// Upstream: eviction_manager.go Start, v1.37.2, which knows nothing of the API.
func TestAPodWhoseStatusCouldNeverBeWrittenIsEvicted(t *testing.T) {
	w := simple(t)
	w.refuseStatuses()
	p := w.create(withScratch(running("web", "head -c 2000000 /dev/zero > /scratch/x; sleep 100000"), "1Mi"))
	require.NoError(t, w.e.RunFor(3*time.Minute))
	w.requireEvent("web", "Evicted", "exceeds the limit")
	require.False(t, w.hasScratch(p))
	w.e.ClearFaults()
	require.NoError(t, w.e.RunFor(3*time.Minute))
	require.Equal(t, "Evicted", w.get("web").Status.Reason)
}

// Upstream: kuberuntime_manager.go computePodActions and util.go PodSandboxChanged, v1.37.2: a kubelet that begins does not know that it has evicted the
// pod, finds its sandbox stopped, and makes another one.
func TestAKubeletThatCrashesBeforeItHasWrittenAnEvictionRunsThePodAnew(t *testing.T) {
	const script = "echo main >> /data/log; if test ! -e /data/full; then touch /data/full; head -c 2000000 /dev/zero > /scratch/x; fi; sleep 100000"
	for policy, goesOn := range map[v1.RestartPolicy]bool{v1.RestartPolicyAlways: true, v1.RestartPolicyOnFailure: true, v1.RestartPolicyNever: false} {
		t.Run(string(policy), func(t *testing.T) {
			w := simple(t)
			p := withScratch(running("web", script), "1Mi")
			p.Spec.RestartPolicy = policy
			p.Spec.InitContainers = []v1.Container{{
				Name: "i", Image: "busybox", Command: []string{"sh", "-c", "echo init >> /data/log"}, VolumeMounts: p.Spec.Containers[0].VolumeMounts,
			}}
			w.create(p)
			require.NoError(t, w.e.RunFor(10*time.Second))
			w.refuseStatuses()
			require.NoError(t, w.e.RunFor(2*time.Minute))
			w.requireEvent("web", "Evicted", "exceeds the limit")
			require.NoError(t, w.e.Crash(actor))
			w.e.ClearFaults()
			require.NoError(t, w.e.RunFor(2*time.Minute))
			status := w.get("web").Status
			if !goesOn {
				require.Equal(t, v1.PodFailed, status.Phase)
				require.Equal(t, "init\nmain\n", w.onDisk("/srv/log"))
				return
			}
			require.Equal(t, v1.PodRunning, status.Phase)
			require.NotNil(t, status.ContainerStatuses[0].State.Running)
			require.EqualValues(t, 137, status.ContainerStatuses[0].LastTerminationState.Terminated.ExitCode)
			require.EqualValues(t, 1, status.ContainerStatuses[0].RestartCount)
			require.EqualValues(t, 1, status.InitContainerStatuses[0].RestartCount)
			require.Equal(t, "init\nmain\ninit\nmain\n", w.onDisk("/srv/log"))
			require.NotEmpty(t, status.PodIP)
			w.delete("web")
			w.settle()
			w.requireNothingLeft()
		})
	}
}
