package pvcontroller_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/api/views"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/pvcontroller"
)

const recycler = "recycler-for-pv"

// recycling returns a cluster with a volume that is to be recycled, whose claim is gone and
// whose recycler pod has been made.
func recycling(t *testing.T, change ...func(*v1.PersistentVolume)) *cluster {
	t.Helper()
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.offered("pv", "5Gi", append(change, policy(v1.PersistentVolumeReclaimRecycle))...)
	c.settle()
	c.claimed("data")
	c.settle()
	c.deleteClaim("data")
	c.settle()
	require.Equal(t, v1.VolumeReleased, c.volume("pv").Status.Phase)
	return c
}

func (c *cluster) podNamed(name string) (*v1.Pod, bool) {
	c.Helper()
	pod, err := c.user.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, false
	}
	require.NoError(c, err)
	return pod, true
}

// endPod plays the kubelet: the pod has ended.
func (c *cluster) endPod(name string, phase v1.PodPhase, message string) {
	c.Helper()
	pod, found := c.podNamed(name)
	require.True(c, found)
	pod.Status.Phase, pod.Status.Message = phase, message
	_, err := c.user.CoreV1().Pods("default").UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	require.NoError(c, err)
}

func TestARecyclerPodMountsTheVolumeAndEmptiesIt(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*v1.PersistentVolume)
		want    v1.VolumeSource
		seconds int64
	}{
		"hostPath": {
			func(*v1.PersistentVolume) {},
			v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/tmp/pv", Type: new(v1.HostPathUnset)}}, 150, // 30 for each GiB
		},
		"small NFS": {
			func(volume *v1.PersistentVolume) {
				volume.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{NFS: &v1.NFSVolumeSource{Server: "nfs.example.com", Path: "/export"}}
			},
			v1.VolumeSource{NFS: &v1.NFSVolumeSource{Server: "nfs.example.com", Path: "/export"}}, 300,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := recycling(t, test.change)
			pod, found := c.podNamed(recycler)
			require.True(t, found)
			require.Equal(t, []v1.Volume{{Name: "vol", VolumeSource: test.want}}, pod.Spec.Volumes)
			require.Equal(t, &test.seconds, pod.Spec.ActiveDeadlineSeconds)
			require.Equal(t, v1.RestartPolicyNever, pod.Spec.RestartPolicy)

			about, ok := views.ReferenceTo(pod)
			require.True(t, ok)
			c.engine.Server().RecordEvent(&v1.Event{
				ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace}, InvolvedObject: about,
				Type: "Normal", Reason: "Started", Message: "Container started: pv-recycler", Source: v1.EventSource{Component: "kubelet", Host: "node-1"},
			})
			require.NoError(t, c.engine.RunFor(5*time.Second))
			c.endPod(recycler, v1.PodSucceeded, "")
			c.settle()
			require.Equal(t, 1, strings.Count(c.engine.Trace().String(), "RecyclerPod"), "said once, however often the pod is looked at")
			_, found = c.podNamed(recycler)
			require.False(t, found)
			require.Equal(t, v1.VolumeAvailable, c.volume("pv").Status.Phase)
			require.Nil(t, c.volume("pv").Spec.ClaimRef)
			require.Equal(t, []string{"Normal RecyclerPod", "Normal VolumeRecycled"}, c.events("pv"))
			c.claimed("next")
			c.settle()
			c.requireBound("next", "pv")
		})
	}
}

func TestARecyclerPodThatFailsMakesTheVolumeFailedAndIsTriedAgain(t *testing.T) {
	for says, end := range map[string]func(c *cluster){
		"Recycle failed: failed to recycle volume: disk on fire":                           func(c *cluster) { c.endPod(recycler, v1.PodFailed, "disk on fire") },
		"Recycle failed: failed to recycle volume: pod failed, pod.Status.Message unknown": func(c *cluster) { c.endPod(recycler, v1.PodFailed, "") },
		"Recycle failed: failed to recycle volume: recycler pod was deleted":               func(c *cluster) { c.deletePod(recycler) },
		"Recycle failed: failed to recycle volume: recycler pod was deleted ": func(c *cluster) { // by another
			c.deletePod(recycler)
			c.pod(recycler, "whatever", "")
			c.endPod(recycler, v1.PodSucceeded, "")
		},
	} {
		t.Run(says, func(t *testing.T) {
			c := recycling(t)
			end(c)
			require.NoError(t, c.engine.RunFor(2*time.Second))
			require.Equal(t, v1.VolumeFailed, c.volume("pv").Status.Phase)
			require.Equal(t, strings.TrimSpace(says), c.volume("pv").Status.Message)
			require.Contains(t, c.events("pv"), "Warning VolumeFailedRecycle")
			c.resync()
			c.endPod(recycler, v1.PodSucceeded, "")
			c.resync()
			require.Equal(t, v1.VolumeAvailable, c.volume("pv").Status.Phase)
		})
	}
}

func TestAnOldRecyclerPodGivesWay(t *testing.T) {
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.pod(recycler, "whatever", "")
	c.offered("pv", "5Gi", policy(v1.PersistentVolumeReclaimRecycle))
	c.settle()
	c.claimed("data")
	c.settle()
	c.deleteClaim("data")
	c.settle()
	require.Equal(t, v1.VolumeFailed, c.volume("pv").Status.Phase)
	require.Equal(t, "Recycle failed: old recycler pod found, will retry later", c.volume("pv").Status.Message)
	c.resync()
	c.endPod(recycler, v1.PodSucceeded, "")
	c.resync()
	require.Equal(t, v1.VolumeAvailable, c.volume("pv").Status.Phase)
}

// A quirk of upstream's: all recyclings of a plugin share one template, whose name is that of the last.
func TestARecyclingDeletesThePodOfTheOneThatBeganLast(t *testing.T) {
	c := recycling(t)
	c.offered("next", "6Gi", policy(v1.PersistentVolumeReclaimRecycle))
	c.settle()
	c.claimed("other")
	c.settle()
	c.deleteClaim("other")
	c.settle()
	c.endPod(recycler, v1.PodSucceeded, "")
	require.NoError(t, c.engine.RunFor(2*time.Second))
	require.Equal(t, v1.VolumeAvailable, c.volume("pv").Status.Phase)
	require.Equal(t, v1.VolumeFailed, c.volume("next").Status.Phase)
	require.Equal(t, "Recycle failed: failed to recycle volume: recycler pod was deleted", c.volume("next").Status.Message)
	_, found := c.podNamed(recycler)
	require.True(t, found, "it is deleted by the next recycling of the volume, which fails")
}

func TestARecyclingWhosePodIsGoneWhenItHasSucceededFails(t *testing.T) {
	c := recycling(t)
	c.offered("next", "6Gi", policy(v1.PersistentVolumeReclaimRecycle))
	c.settle()
	c.claimed("other")
	c.settle()
	c.deleteClaim("other")
	c.settle()
	c.deletePod("recycler-for-next")
	c.endPod(recycler, v1.PodSucceeded, "")
	require.NoError(t, c.engine.RunFor(time.Second))
	require.Equal(t, v1.VolumeFailed, c.volume("pv").Status.Phase)
	require.Equal(t, `Recycle failed: failed to delete recycler pod: pods "recycler-for-next" not found`, c.volume("pv").Status.Message)
}

func TestARecyclerPodThatNoNodeTakesIsWaitedFor(t *testing.T) {
	c := recycling(t)
	require.NoError(t, c.engine.RunFor(time.Hour))
	require.Equal(t, v1.VolumeReleased, c.volume("pv").Status.Phase)
	c.endPod(recycler, v1.PodSucceeded, "")
	c.resync()
	require.Equal(t, v1.VolumeAvailable, c.volume("pv").Status.Phase)
}

func TestAVolumeTooLargeForARecyclerPodsDeadlineFails(t *testing.T) {
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.offered("pv", "7Ei", policy(v1.PersistentVolumeReclaimRecycle))
	c.settle()
	c.claimed("data")
	c.settle()
	c.deleteClaim("data")
	c.settle()
	require.Equal(t, v1.VolumeFailed, c.volume("pv").Status.Phase)
	require.Contains(t, c.volume("pv").Status.Message, "spec.activeDeadlineSeconds: Invalid value: 225485783040")
}
