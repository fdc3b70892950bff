package pvcontroller_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/pvcontroller"
	"github.com/storagesim/storagesim/trace"
)

func TestBindingIsFourWrites(t *testing.T) {
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.offered("pv", "6Gi")
	c.settle()
	c.claimed("data")
	since := c.engine.Trace().Len()
	c.settle()
	c.requireBound("data", "pv")
	require.Equal(t, []string{"update persistentvolumes", "update persistentvolumes/status"}, c.writes("pv", since))
	require.Equal(t, []string{
		"update persistentvolumeclaims", "update persistentvolumeclaims/status",
		"update persistentvolumeclaims/status", // pvc-protection-controller: the claim is unused
	}, c.writes("data", since))
	require.Equal(t, resource.MustParse("6Gi"), c.claim("data").Status.Capacity[v1.ResourceStorage])
	require.Equal(t, map[string]string{
		"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes",
	}, c.claim("data").Annotations)
	require.Equal(t, map[string]string{"pv.kubernetes.io/bound-by-controller": "yes"}, c.volume("pv").Annotations)

	since = c.engine.Trace().Len()
	c.resync()
	require.Empty(t, c.writes("pv", since))
	require.Empty(t, c.writes("data", since))
}

func TestFewerModesBeatASmallerSize(t *testing.T) { // semantics 1 must 1
	atEverySeed(t, 5, func(c *cluster) {
		c.offered("big-rwo", "10Gi")
		c.offered("small-rwx", "5Gi", func(v *v1.PersistentVolume) { v.Spec.AccessModes = append(v.Spec.AccessModes, v1.ReadWriteMany) })
		c.settle()
		c.claimed("data")
		c.settle()
		c.requireBound("data", "big-rwo")
	})
}

func TestTheSmallestSufficientVolumeIsBound(t *testing.T) { // semantics 1 must 2
	atEverySeed(t, 5, func(c *cluster) {
		for name, size := range map[string]string{"pv-1": "1Gi", "pv-20": "20Gi", "pv-8": "8Gi"} {
			c.offered(name, size)
		}
		c.settle()
		c.claimed("data")
		c.settle()
		c.requireBound("data", "pv-8")
	})
}

func TestADelayedClaimIsBoundOnlyToAVolumeReservedForIt(t *testing.T) { // semantics 1 must 3
	atEverySeed(t, 5, func(c *cluster) {
		c.class("manual", "kubernetes.io/no-provisioner", storagev1.VolumeBindingWaitForFirstConsumer)
		c.offered("free", "5Gi")
		c.settle()
		c.claimed("data")
		c.resync()
		require.Equal(c, v1.ClaimPending, c.claim("data").Status.Phase)
		require.Equal(c, v1.VolumeAvailable, c.volume("free").Status.Phase)
		require.Equal(c, []string{"Normal WaitForFirstConsumer"}, c.events("data"))

		c.offered("mine", "5Gi", reservedFor("data"))
		c.resync()
		c.requireBound("data", "mine")
	})
}

func TestAReservedVolumeIsBoundWhateverItsClass(t *testing.T) { // semantics 1 must 4
	atEverySeed(t, 5, func(c *cluster) {
		c.offered("free", "5Gi")
		c.offered("mine", "50Gi", reservedFor("data"), func(v *v1.PersistentVolume) { v.Spec.StorageClassName = "other" })
		c.settle()
		c.claimed("data")
		c.settle()
		c.requireBound("data", "mine")
		require.Equal(c, v1.VolumeAvailable, c.volume("free").Status.Phase)
		require.NotContains(c, c.volume("mine").Annotations, "pv.kubernetes.io/bound-by-controller")
	})
}

func TestALostVolumeMakesItsClaimLostAndBringsItBack(t *testing.T) { // semantics 1 must 6
	atEverySeed(t, 5, func(c *cluster) {
		c.offered("pv", "5Gi")
		c.settle()
		c.claimed("data")
		c.settle()
		c.requireBound("data", "pv")
		c.removeVolume("pv")
		c.settle() // at once, not at the next resync
		claim := c.claim("data")
		require.Equal(c, v1.ClaimLost, claim.Status.Phase)
		require.Nil(c, claim.Status.Capacity)
		require.Nil(c, claim.Status.AccessModes)
		c.resync()
		require.Equal(c, []string{"Warning ClaimLost"}, c.events("data"))
		events, err := c.user.CoreV1().Events("default").List(ctx, metav1.ListOptions{})
		require.NoError(c, err)
		require.Len(c, events.Items, 1)
		require.EqualValues(c, 1, events.Items[0].Count, "said once")

		c.offered("pv", "5Gi", reservedFor("data"), func(v *v1.PersistentVolume) { v.Spec.ClaimRef.UID = claim.UID })
		c.resync()
		c.requireBound("data", "pv")
		require.Equal(c, resource.MustParse("5Gi"), c.claim("data").Status.Capacity[v1.ResourceStorage])
	})
}

func TestANewClaimOfTheSameNameDoesNotGetTheReleasedVolume(t *testing.T) { // semantics 1 must 7
	atEverySeed(t, 10, func(c *cluster) {
		c.offered("keep", "5Gi")
		c.settle()
		first := c.claimed("data")
		c.settle()
		c.deleteClaim("data")
		c.settle()
		c.claimed("data")
		c.resync()
		require.Equal(c, v1.VolumeReleased, c.volume("keep").Status.Phase)
		require.Equal(c, first.UID, c.volume("keep").Spec.ClaimRef.UID)
		require.Equal(c, v1.ClaimPending, c.claim("data").Status.Phase)
	})
}

func TestARetainedVolumeKeepsItsClaimRefUntilTheUserClearsIt(t *testing.T) { // semantics 1 must 8
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.offered("keep", "5Gi")
	c.settle()
	c.claimed("data")
	c.settle()
	c.deleteClaim("data")
	c.resync()
	require.Equal(t, v1.VolumeReleased, c.volume("keep").Status.Phase)
	require.NotNil(t, c.volume("keep").Spec.ClaimRef)
	c.patchVolume("keep", `{"spec":{"claimRef":null}}`)
	c.settle()
	require.Equal(t, v1.VolumeAvailable, c.volume("keep").Status.Phase)
	c.claimed("other")
	c.settle()
	c.requireBound("other", "keep")
}

func TestAVolumeIsNotReleasedOnTheEvidenceOfACacheThatLags(t *testing.T) { // semantics 1 must 9
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.settle()
	require.NoError(t, c.engine.Hold(pvcontroller.ActorName, "persistentvolumeclaims"))
	claim := c.claimed("data")
	// Another actor (a scheduler, a provisioner) has reserved a volume for the claim,
	// which the controller's cache does not know yet.
	c.offered("pv", "5Gi", reservedFor("data"), policy(v1.PersistentVolumeReclaimDelete), func(v *v1.PersistentVolume) { v.Spec.ClaimRef.UID = claim.UID })
	c.resync()
	require.NotContains(t, []v1.PersistentVolumePhase{v1.VolumeReleased, v1.VolumeFailed}, c.volume("pv").Status.Phase)
	require.NoError(t, c.engine.Release(pvcontroller.ActorName, "persistentvolumeclaims"))
	c.resync()
	c.requireBound("data", "pv")
}

func TestUnbindingAReservedVolumeClearsOnlyTheUID(t *testing.T) { // semantics 1 must 10
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.offered("first", "5Gi")
	c.settle()
	claim := c.claimed("data")
	c.settle()
	c.requireBound("data", "first")
	uid := func(v *v1.PersistentVolume) { v.Spec.ClaimRef.UID = claim.UID }
	c.offered("reserved", "5Gi", reservedFor("data"), uid)
	c.offered("chosen", "5Gi", reservedFor("data"), uid, annotated("pv.kubernetes.io/bound-by-controller=yes"))
	c.resync()
	reserved, chosen := c.volume("reserved"), c.volume("chosen")
	require.Equal(t, v1.VolumeAvailable, reserved.Status.Phase)
	require.Equal(t, "data", reserved.Spec.ClaimRef.Name)
	require.Empty(t, reserved.Spec.ClaimRef.UID)
	require.Equal(t, v1.VolumeAvailable, chosen.Status.Phase)
	require.Nil(t, chosen.Spec.ClaimRef)
	require.Empty(t, chosen.Annotations)
	c.requireBound("data", "first")
}

func TestADefaultClassThatArrivesLateIsGivenToClaimsWithoutAClass(t *testing.T) { // semantics 1 must 11
	atEverySeed(t, 5, func(c *cluster) {
		c.claimed("data", func(claim *v1.PersistentVolumeClaim) { claim.Spec.StorageClassName = nil })
		c.claimed("explicit-none", ofClass(""))
		c.settle()
		require.Equal(c, []string{"Normal FailedBinding"}, c.events("data"))
		def := func(class *storagev1.StorageClass) {
			class.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
		}
		c.class("b", "example.com/ext", storagev1.VolumeBindingImmediate, def)
		c.class("a", "example.com/ext", storagev1.VolumeBindingImmediate, def)
		c.class("0-not-default", "example.com/ext", storagev1.VolumeBindingImmediate, func(class *storagev1.StorageClass) {
			class.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "false"}
		})
		c.resync()
		require.Equal(c, new("a"), c.claim("data").Spec.StorageClassName, "of two of one age the first by name")
		require.Equal(c, new(""), c.claim("explicit-none").Spec.StorageClassName)
		for _, entry := range c.engine.Trace().Entries() {
			if w, ok := entry.Record.(trace.Write); ok && w.Name == "explicit-none" {
				require.NoError(c, w.Err, "it is not even tried")
			}
		}
		require.Contains(c, c.claim("data").Annotations, "volume.kubernetes.io/storage-provisioner")
	})
}

func TestAClaimThatIsGivenAClassIsNotToldThatItHasNone(t *testing.T) { // semantics 1.2 step 4: written, return
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.claimed("data", func(claim *v1.PersistentVolumeClaim) { claim.Spec.StorageClassName = nil })
	c.settle()
	c.class("std", "example.com/ext", storagev1.VolumeBindingImmediate, func(class *storagev1.StorageClass) {
		class.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
	})
	said := strings.Count(c.engine.Trace().String(), "FailedBinding")
	c.resync()
	require.Equal(t, new("std"), c.claim("data").Spec.StorageClassName)
	require.Equal(t, said, strings.Count(c.engine.Trace().String(), "FailedBinding"))
	c.requireNothingRefused()
}

func TestTheNewestOfSeveralDefaultClassesIsGiven(t *testing.T) {
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	def := func(class *storagev1.StorageClass) {
		class.Annotations = map[string]string{"storageclass.beta.kubernetes.io/is-default-class": "true"}
	}
	c.claimed("data", func(claim *v1.PersistentVolumeClaim) { claim.Spec.StorageClassName = nil })
	c.settle()
	require.NoError(t, c.engine.Hold(pvcontroller.ActorName, "storageclasses"))
	c.class("a", "example.com/ext", storagev1.VolumeBindingImmediate, def)
	require.NoError(t, c.engine.RunFor(2*time.Second))
	c.class("b", "example.com/ext", storagev1.VolumeBindingImmediate, def)
	require.NoError(t, c.engine.Release(pvcontroller.ActorName, "storageclasses"))
	c.resync()
	require.Equal(t, new("b"), c.claim("data").Spec.StorageClassName)
}

func TestOfTwoClaimsForOneVolumeExactlyOneIsBound(t *testing.T) { // semantics 1 must 13
	atEverySeed(t, 40, func(c *cluster) {
		c.offered("only", "5Gi")
		c.claimed("first")
		c.claimed("second")
		c.resync()
		c.resync()
		winner, loser := "first", "second"
		if c.claim("second").Status.Phase == v1.ClaimBound {
			winner, loser = loser, winner
		}
		c.requireBound(winner, "only")
		require.Equal(c, v1.ClaimPending, c.claim(loser).Status.Phase)
		require.Empty(c, c.claim(loser).Spec.VolumeName)
	})
}

func TestABoundClaimsCapacityDoesNotFollowItsVolumes(t *testing.T) { // semantics 1 must 14
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.offered("pv", "5Gi")
	c.settle()
	c.claimed("data")
	c.settle()
	c.patchVolume("pv", `{"spec":{"capacity":{"storage":"9Gi"},"accessModes":["ReadWriteOnce","ReadOnlyMany"]}}`)
	c.resync()
	claim := c.claim("data")
	require.Equal(t, resource.MustParse("5Gi"), claim.Status.Capacity[v1.ResourceStorage])
	require.Equal(t, []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce, v1.ReadOnlyMany}, claim.Status.AccessModes, "access modes do")
}

func TestAnUnscheduledPodIsNamedInsteadOfTheFirstConsumer(t *testing.T) {
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.class("manual", "example.com/ext", storagev1.VolumeBindingWaitForFirstConsumer)
	c.claimed("data")
	c.pod("b", "data", "")
	c.pod("a", "data", "")
	c.pod("elsewhere", "other", "")
	c.pod("scheduled", "data", "node-1")
	c.pod("going", "data", "")
	c.patchPod("going", `{"metadata":{"finalizers":["example.com/wait"]}}`)
	c.deletePod("going") // it will not be scheduled any more
	c.resync()
	events, err := c.user.CoreV1().Events("default").List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	var messages []string
	for _, event := range events.Items {
		if event.Reason == "WaitForPodScheduled" {
			messages = append(messages, event.Message)
		}
	}
	require.Contains(t, messages, "waiting for pods a,b to be scheduled")
}
