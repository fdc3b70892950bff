package pvcontroller_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/pvcontroller"
	"github.com/storagesim/storagesim/pvcontroller/protection"
)

// exists reports whether the claim is still there.
func (c *cluster) exists(claim string) bool {
	_, err := c.user.CoreV1().PersistentVolumeClaims("default").Get(ctx, claim, metav1.GetOptions{})
	return err == nil
}

func TestAClaimAndItsVolumeStayWhileAPodUsesThem(t *testing.T) {
	atEverySeed(t, 10, func(c *cluster) {
		c.offered("keep", "5Gi")
		c.settle()
		c.claimed("data")
		c.settle()
		c.pod("web", "data", "node-1")
		c.settle()
		c.deleteClaim("data")
		require.NoError(c, c.user.CoreV1().PersistentVolumes().Delete(ctx, "keep", metav1.DeleteOptions{}))
		c.resync()
		require.True(c, c.exists("data"))
		require.Equal(c, v1.VolumeBound, c.volume("keep").Status.Phase)
		c.deletePod("web")
		c.settle()
		require.False(c, c.exists("data"))
		c.requireGone("keep")
	})
}

func TestAPodThatHasEndedStillProtectsItsClaimAndOneWithoutANodeDoesNot(t *testing.T) {
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.claimed("ended")
	c.claimed("waiting")
	c.pod("done", "ended", "node-1")
	c.pod("pending", "waiting", "")
	c.settle()
	pod, err := c.user.CoreV1().Pods("default").Get(ctx, "done", metav1.GetOptions{})
	require.NoError(t, err)
	pod.Status.Phase = v1.PodSucceeded
	_, err = c.user.CoreV1().Pods("default").UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	require.NoError(t, err)
	c.deleteClaim("ended")
	c.deleteClaim("waiting")
	c.settle()
	require.True(t, c.exists("ended"))
	require.False(t, c.exists("waiting"))
	c.deletePod("done")
	c.settle()
	require.False(t, c.exists("ended"))
}

func TestAPodThatTheCacheDoesNotKnowStillProtectsItsClaim(t *testing.T) {
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.claimed("data")
	c.settle()
	require.NoError(t, c.engine.Hold(protection.PVCActorName, "pods"))
	c.pod("web", "data", "node-1")
	c.deleteClaim("data")
	c.settle()
	require.True(t, c.exists("data"), "the live list must have found the pod")
	require.NoError(t, c.engine.Release(protection.PVCActorName, "pods"))
	c.deletePod("web")
	c.settle()
	require.False(t, c.exists("data"))
}

func TestAMissingFinalizerIsAdded(t *testing.T) {
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.offered("pv", "5Gi")
	c.claimed("data")
	c.settle()
	c.patchVolume("pv", `{"metadata":{"finalizers":null}}`)
	c.patchClaim("data", `{"metadata":{"finalizers":["example.com/mine"]}}`)
	c.settle()
	require.Equal(t, []string{"kubernetes.io/pv-protection"}, c.volume("pv").Finalizers)
	require.Equal(t, []string{"example.com/mine", "kubernetes.io/pvc-protection"}, c.claim("data").Finalizers)
}

func TestTheClaimOfAnEphemeralVolumeIsProtectedByItsOwnPodOnly(t *testing.T) {
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	pod, err := c.user.CoreV1().Pods("default").Create(ctx, &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec: v1.PodSpec{
			NodeName: "node-1", Containers: []v1.Container{{Name: "c", Image: "busybox"}},
			Volumes: []v1.Volume{{Name: "tmp", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{
				VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{Spec: c.claimed("template").Spec},
			}}}, {Name: "alien", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{
				VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{Spec: c.claim("template").Spec},
			}}}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	c.claimed("web-tmp", func(claim *v1.PersistentVolumeClaim) {
		claim.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(pod, v1.SchemeGroupVersion.WithKind("Pod"))}
	})
	alien := c.claimed("web-alien")
	c.settle()
	c.deleteClaim("web-tmp")
	c.deleteClaim("web-alien")
	c.settle()
	require.True(t, c.exists("web-tmp"))
	require.NotNil(t, c.claim("web-tmp").DeletionTimestamp)
	require.NotEqual(t, alien.UID, c.claim("web-alien").UID, "it has made way for the pod's own")
}

// A pod that owns its claim and is deleted in the foreground waits for the claim, and
// the claim for the pod: so it counts only until the pod is shut down.
func TestAPodThatIsShutDownDoesNotKeepTheClaimOfItsEphemeralVolume(t *testing.T) { // semantics 1.8
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.ephemeralPod("web", "scratch")
	c.settle()
	c.patchPod("web", `{"metadata":{"finalizers":["foregroundDeletion"]}}`)
	require.NoError(t, c.user.CoreV1().Pods("default").Bind(ctx, &v1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Target: v1.ObjectReference{Kind: "Node", Name: "node-1"},
	}, metav1.CreateOptions{}))
	c.deleteClaim("web-scratch")
	c.settle()
	require.True(t, c.exists("web-scratch"))
	c.deletePod("web")
	c.settle()
	require.False(t, c.exists("web-scratch"))
}

func TestNoFinalizerIsAddedToWhatIsBeingDeleted(t *testing.T) { // semantics 1.8; the API server would refuse it
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	mine := []string{"example.com/mine"}
	c.offered("pv", "5Gi", func(volume *v1.PersistentVolume) { volume.Finalizers = mine })
	c.claimed("data", ofClass("other"), func(claim *v1.PersistentVolumeClaim) { claim.Finalizers = mine })
	c.settle()
	c.deleteClaim("data")
	require.NoError(t, c.user.CoreV1().PersistentVolumes().Delete(ctx, "pv", metav1.DeleteOptions{}))
	c.requireQuiet()
	require.Equal(t, mine, c.claim("data").Finalizers)
	require.Equal(t, mine, c.volume("pv").Finalizers)
	c.requireNothingRefused()
}

// unused returns the condition Unused of a claim, "" if it has none.
func (c *cluster) unused(claim string) string {
	for _, condition := range c.claim(claim).Status.Conditions {
		if condition.Type == v1.PersistentVolumeClaimUnused {
			return string(condition.Status) + " " + condition.Reason
		}
	}
	return ""
}

// semantics 1.8 (5)
func TestABoundClaimSaysWhetherAPodUsesIt(t *testing.T) {
	atEverySeed(t, 10, func(c *cluster) {
		c.claimed("data")
		c.settle()
		require.Empty(c, c.unused("data"), "it is Pending")
		c.offered("keep", "5Gi")
		c.resync()
		c.settle()
		require.Equal(c, "True NoPodsUsingPVC", c.unused("data"))
		c.pod("web", "data", "")
		c.settle()
		require.Equal(c, "False PodUsingPVC", c.unused("data"), "a pod without a node uses it")
		c.deletePod("web")
		c.settle()
		require.Equal(c, "True NoPodsUsingPVC", c.unused("data"))
		require.Len(c, c.claim("data").Status.Conditions, 1)
		c.pod("done", "data", "node-1")
		c.settle()
		pod, err := c.user.CoreV1().Pods("default").Get(ctx, "done", metav1.GetOptions{})
		require.NoError(c, err)
		pod.Status.Phase = v1.PodSucceeded
		_, err = c.user.CoreV1().Pods("default").UpdateStatus(ctx, pod, metav1.UpdateOptions{})
		require.NoError(c, err)
		c.settle()
		require.Equal(c, "True NoPodsUsingPVC", c.unused("data"), "a pod that has ended does not")
	})
}

// semantics 1.8 (5)
func TestAConditionUnusedThatIsRemovedComesBackAtOnce(t *testing.T) {
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.offered("keep", "5Gi")
	c.claimed("data")
	c.settle()
	c.resync()
	claim := c.claim("data")
	claim.Status.Conditions = nil
	_, err := c.user.CoreV1().PersistentVolumeClaims("default").UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	require.NoError(t, err)
	c.settle()
	require.Equal(t, "True NoPodsUsingPVC", c.unused("data"))
}
