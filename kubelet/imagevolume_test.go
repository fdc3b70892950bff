package kubelet_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/trace"
)

// fromImage returns a volume with the files of an image.
func fromImage(image string, policy v1.PullPolicy) v1.Volume {
	return v1.Volume{Name: "model", VolumeSource: v1.VolumeSource{Image: &v1.ImageVolumeSource{Reference: image, PullPolicy: policy}}}
}

// Upstream: kuberuntime_manager.go getImageVolumes, v1.37.2.
func TestAVolumeOfAnImageIsPulledMountedReadOnlyAndEmpty(t *testing.T) {
	w := simple(t)
	p := using(pod("web", fromImage("quay.io/mine/model:v1", "")), "busybox:1", "")
	p.Spec.RestartPolicy = v1.RestartPolicyNever
	p.Spec.Containers[0].Command = []string{"sh", "-c", "{ ls /model | wc -l; touch /model/x || ls -d /sub; } > /dev/termination-log 2>&1"}
	p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, v1.VolumeMount{Name: "model", MountPath: "/sub", SubPath: "weights"})
	w.create(p)
	w.settle()
	require.Equal(t, append(pulled("quay.io/mine/model:v1"), pulled("busybox:1")...), w.imageEvents("web"))
	require.Equal(t, "1\ntouch: cannot touch '/model/x': read-only file system\n/sub\n", w.get("web").Status.ContainerStatuses[0].State.Terminated.Message)
	var deviates []string
	for _, d := range w.e.Trace().Deviations() {
		if d.Situation == trace.ImageEmpty {
			deviates = append(deviates, d.About.Name+" "+d.Of)
		}
	}
	require.Equal(t, []string{"web image quay.io/mine/model:v1"}, deviates)
	for _, m := range w.mounts() { // the runtime mounts the part
		require.NotContains(t, m.Path, "volume-subpaths")
	}

	require.NoError(t, w.e.Crash(actor))
	w.settle()
	w.delete("web")
	w.settle()
	w.requireNothingLeft()
}

func TestContainersWaitForTheImagesOfTheirVolumesAlone(t *testing.T) {
	w := simple(t)
	p := using(pod("web", fromImage("mine/model:1", v1.PullNever)), "busybox:1", "")
	other := p.Spec.Containers[0]
	other.Name, other.VolumeMounts = "other", nil
	p.Spec.Containers = append(p.Spec.Containers, other)
	w.create(p)
	w.settle()
	w.requireWaiting("web", "c", "ErrImageNeverPull", `Container image "mine/model:1" is not present with pull policy of Never`)
	require.NotNil(t, w.get("web").Status.ContainerStatuses[1].State.Running)
	w.requireEvent("web", "Failed", "Error: ErrImageNeverPull")

	bad := pod("bad", fromImage("Mine", ""))
	w.create(bad)
	w.settle()
	text := `Failed to apply default image tag "Mine": couldn't parse image name "Mine": invalid reference format: repository name (library/Mine) ` +
		`must be lowercase`
	w.requireWaiting("bad", "c", "InvalidImageName", text)
}

func TestTheImageOfAVolumeIsPulledAgainAfterABackoff(t *testing.T) {
	w := simple(t)
	w.node.Fail(func(op, name string) error {
		if op == "write" && strings.HasPrefix(name, "/run/containerd/images/") {
			return syscall.ENOSPC
		}
		return nil
	})
	w.create(using(pod("web", fromImage("mine/model:1", "")), "busybox:1", ""))
	reason := func() string { return w.get("web").Status.ContainerStatuses[0].State.Waiting.Reason }
	require.NoError(t, w.e.RunFor(time.Second))
	require.Equal(t, "ErrImagePull", reason())
	w.requireEvent("web", "Failed", `Failed to pull image "mine/model:1"`)
	require.NoError(t, w.e.RunFor(20*time.Second))
	require.Equal(t, "ImagePullBackOff", reason())
	w.requireEvent("web", "BackOff", `Back-off pulling image "mine/model:1"`)
	w.node.Fail(nil)
	require.NoError(t, w.e.RunFor(10*time.Minute))
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
	w.delete("web")
	w.settle()
	w.requireNothingLeft()
}
