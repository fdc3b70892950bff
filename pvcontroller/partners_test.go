package pvcontroller_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/pvcontroller"
	"github.com/storagesim/storagesim/trace"
)

// requireQuiet: the controllers have nothing more to do, however often they look.
func (c *cluster) requireQuiet() {
	c.Helper()
	c.resync()
	since := c.engine.Trace().Len()
	for range 4 {
		c.resync()
	}
	for _, entry := range c.engine.Trace().Since(since) {
		if w, ok := entry.Record.(trace.Write); ok {
			c.Errorf("still at work: %s", w)
		}
	}
}

func withUID(uid string) func(*v1.PersistentVolume) {
	return func(volume *v1.PersistentVolume) { volume.Spec.ClaimRef.UID = types.UID(uid) }
}

func TestAVolumeReservedForAClaimThatIsNowhereWaitsForIt(t *testing.T) {
	atEverySeed(t, 5, func(c *cluster) {
		c.offered("kept", "5Gi", func(volume *v1.PersistentVolume) {
			volume.Spec.ClaimRef = &v1.ObjectReference{Namespace: "no-such-namespace", Name: "data"}
		})
		c.claimed("data") // of that name, but elsewhere
		c.requireQuiet()
		require.Equal(c, v1.VolumeAvailable, c.volume("kept").Status.Phase)
		require.Equal(c, v1.ClaimPending, c.claim("data").Status.Phase)
		require.Equal(c, []string{"Warning ProvisioningFailed"}, c.events("data"), "its class does not exist")
	})
}

func TestAVolumeOfAClaimThatIsNowhereIsReleasedAndReclaimed(t *testing.T) {
	for policyName, want := range map[v1.PersistentVolumeReclaimPolicy]v1.PersistentVolumePhase{
		v1.PersistentVolumeReclaimRetain: v1.VolumeReleased,
		v1.PersistentVolumeReclaimDelete: v1.VolumeFailed, // there is no deleter
	} {
		c := newCluster(t, engine.Config{}, pvcontroller.Config{})
		c.offered("pv", "5Gi", reservedFor("nowhere"), withUID("1d5b4d2c-0000-0000-0000-000000000000"), policy(policyName))
		c.requireQuiet()
		require.Equal(t, want, c.volume("pv").Status.Phase)
		c.claimed("nowhere") // of that name, but another
		c.requireQuiet()
		require.Equal(t, want, c.volume("pv").Status.Phase)
		require.Equal(t, v1.ClaimPending, c.claim("nowhere").Status.Phase)
	}
}

func TestTwoVolumesBoundToOneClaimOneIsFreedAgain(t *testing.T) {
	atEverySeed(t, 10, func(c *cluster) {
		claim := c.claimed("data")
		for _, name := range []string{"a", "b"} {
			c.offered(name, "5Gi", reservedFor("data"), withUID(string(claim.UID)))
		}
		c.requireQuiet()
		other := c.requireOneBound("data", "a", "b")
		require.Equal(c, v1.VolumeAvailable, other.Status.Phase)
		require.Equal(c, "data", other.Spec.ClaimRef.Name, "it stays reserved for a claim of that name")
		require.Empty(c, other.Spec.ClaimRef.UID)
		require.Empty(c, c.events(other.Name))
	})
}

func TestAClaimAndAVolumeThatNameDifferentPartners(t *testing.T) {
	atEverySeed(t, 10, func(c *cluster) {
		claim := c.claimed("data", func(claim *v1.PersistentVolumeClaim) { claim.Spec.VolumeName = "wanted" })
		c.offered("wanted", "5Gi", reservedFor("other"))
		c.offered("suitor", "5Gi", reservedFor("data"), withUID(string(claim.UID)))
		c.requireQuiet()
		require.Equal(c, v1.ClaimPending, c.claim("data").Status.Phase)
		require.Equal(c, []string{"Warning FailedBinding"}, c.events("data"))
		require.Equal(c, v1.VolumeAvailable, c.volume("wanted").Status.Phase)
		require.Equal(c, v1.VolumeAvailable, c.volume("suitor").Status.Phase)
		require.Empty(c, c.volume("suitor").Spec.ClaimRef.UID)

		c.claimed("other")
		c.requireQuiet()
		c.requireBound("other", "wanted")
		require.Equal(c, v1.ClaimPending, c.claim("data").Status.Phase)
	})
}

func TestABoundClaimWhoseVolumeIsMadeAnothersIsLost(t *testing.T) {
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.offered("pv", "5Gi")
	c.settle()
	c.claimed("data")
	c.settle()
	other := c.claimed("other")
	c.settle()
	c.patchVolume("pv", `{"spec":{"claimRef":{"name":"other","uid":"`+string(other.UID)+`"}}}`)
	c.requireQuiet()
	require.Equal(t, v1.ClaimLost, c.claim("data").Status.Phase)
	require.Contains(t, c.events("data"), "Warning ClaimMisbound")
	c.requireBound("other", "pv")
}

func TestABoundClaimWhoseVolumeForgetsItTakesItBack(t *testing.T) { // semantics 1.2: claimRef nil
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.offered("pv", "5Gi")
	c.settle()
	c.claimed("data")
	c.settle()
	c.patchVolume("pv", `{"spec":{"claimRef":null},"metadata":{"annotations":null}}`)
	c.requireQuiet()
	c.requireBound("data", "pv")
	require.Contains(t, c.volume("pv").Annotations, "pv.kubernetes.io/bound-by-controller")
	require.Empty(t, c.events("data"))
}

func TestABoundClaimWhoseVolumeForgetsWhichClaimItWasIsLost(t *testing.T) { // semantics 1.2: else Lost
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.offered("pv", "5Gi")
	c.settle()
	c.claimed("data")
	c.settle()
	c.patchVolume("pv", `{"spec":{"claimRef":{"uid":null}}}`)
	c.requireQuiet()
	require.Equal(t, v1.ClaimLost, c.claim("data").Status.Phase)
	require.Equal(t, []string{"Warning ClaimMisbound"}, c.events("data"))
	require.Equal(t, v1.VolumeAvailable, c.volume("pv").Status.Phase)
}

func TestAClaimThatForgetsItsVolumeIsLost(t *testing.T) { // semantics 1.2: volumeName empty
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.claimed("data", func(claim *v1.PersistentVolumeClaim) {
		claim.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
	})
	c.offered("pv", "5Gi") // would do, but the claim has had a volume
	c.requireQuiet()
	require.Equal(t, v1.ClaimLost, c.claim("data").Status.Phase)
	require.Equal(t, []string{"Warning ClaimLost"}, c.events("data"))
	require.Equal(t, v1.VolumeAvailable, c.volume("pv").Status.Phase)
}

func TestWhatIsNoSelectorNoQuantityOrNoPolicyIsRefusedByTheServer(t *testing.T) {
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	claim := func(change func(*v1.PersistentVolumeClaim)) error {
		claim := c.claimed("ok").DeepCopy()
		c.deleteClaim("ok")
		c.settle()
		claim.ObjectMeta = metav1.ObjectMeta{Name: "bad", Namespace: "default"}
		change(claim)
		_, err := c.user.CoreV1().PersistentVolumeClaims("default").Create(ctx, claim, metav1.CreateOptions{})
		return err
	}
	volume := func(change func(*v1.PersistentVolume)) error {
		volume := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "bad"}, Spec: v1.PersistentVolumeSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, Capacity: v1.ResourceList{v1.ResourceStorage: quantity("1Gi")},
			PersistentVolumeSource: v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/tmp/x"}},
		}}
		change(volume)
		_, err := c.user.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{})
		return err
	}
	for says, err := range map[string]error{
		"spec.selector.matchExpressions[0].operator": claim(func(claim *v1.PersistentVolumeClaim) {
			claim.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
		}),
		"spec.resources[storage]: Required value": claim(func(claim *v1.PersistentVolumeClaim) { claim.Spec.Resources.Requests = nil }),
		"must be greater than zero": claim(func(claim *v1.PersistentVolumeClaim) {
			claim.Spec.Resources.Requests[v1.ResourceStorage] = quantity("-1")
		}),
		"spec.capacity: Required value":    volume(func(volume *v1.PersistentVolume) { volume.Spec.Capacity = nil }),
		"spec.capacity: Unsupported value": volume(func(volume *v1.PersistentVolume) { volume.Spec.Capacity = v1.ResourceList{"cpu": quantity("1")} }),
		`Unsupported value: "Shred"`:       volume(policy("Shred")),
		"may not be 'recycle' for a hostPath": volume(func(volume *v1.PersistentVolume) {
			volume.Spec.PersistentVolumeReclaimPolicy, volume.Spec.HostPath.Path = v1.PersistentVolumeReclaimRecycle, "/tmp/.."
		}),
	} {
		require.ErrorContains(t, err, says)
	}
}

func TestQuantitiesBeyondEveryIntegerAndBelowOneAreCompared(t *testing.T) {
	request := func(size string) func(*v1.PersistentVolumeClaim) {
		return func(claim *v1.PersistentVolumeClaim) {
			claim.Spec.Resources.Requests[v1.ResourceStorage] = quantity(size)
		}
	}
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.offered("huge", "9223372036854775808") // 2^63
	c.offered("small", "1500m")
	c.settle()
	c.claimed("more-than-huge", request("9223372036854775809"))
	c.claimed("tiny", request("0.5"))
	c.claimed("large", request("8Ei"))
	c.requireQuiet()
	c.requireBound("tiny", "small")
	require.Equal(t, quantity("1500m"), c.claim("tiny").Status.Capacity[v1.ResourceStorage])
	require.Equal(t, v1.ClaimPending, c.claim("more-than-huge").Status.Phase)
	c.requireBound("large", "huge")
}
