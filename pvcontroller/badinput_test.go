package pvcontroller_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/pvcontroller"
)

func TestAClaimThatNamesAVolumeWaitsForItOrSaysWhyNot(t *testing.T) {
	named := func(volume string) func(*v1.PersistentVolumeClaim) {
		return func(claim *v1.PersistentVolumeClaim) { claim.Spec.VolumeName = volume }
	}
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.offered("tiny", "1Gi")
	c.offered("taken", "5Gi", reservedFor("other"))
	c.offered("whatever", "1Gi", reservedFor("both"))
	c.settle()
	c.claimed("early", named("late"))
	c.claimed("small", named("tiny"))
	c.claimed("second", named("taken"))
	c.claimed("both", named("whatever"))
	c.settle()
	require.Empty(t, c.events("early"))
	require.Equal(t, []string{"Warning VolumeMismatch"}, c.events("small"))
	require.Equal(t, []string{"Warning FailedBinding"}, c.events("second"))
	for _, name := range []string{"early", "small", "second"} {
		require.Equal(t, v1.ClaimPending, c.claim(name).Status.Phase)
	}
	c.requireBound("both", "whatever") // each names the other: whether they fit is not checked

	c.offered("late", "50Gi")
	c.resync()
	c.requireBound("early", "late")
	require.NotContains(t, c.claim("early").Annotations, "pv.kubernetes.io/bound-by-controller", "the user chose the volume")
}

func TestAClaimWhoseClassIsMissingOrHasNoProvisionerIsTold(t *testing.T) {
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.class("np", "kubernetes.io/no-provisioner", storagev1.VolumeBindingImmediate)
	c.class("hostpath", "kubernetes.io/host-path", storagev1.VolumeBindingImmediate)
	c.settle()
	c.claimed("disabled", ofClass("hostpath"))
	c.claimed("missing", ofClass("nope"))
	c.claimed("nobody", ofClass("np"))
	c.settle()
	for _, name := range []string{"missing", "nobody"} {
		require.Equal(t, []string{"Warning ProvisioningFailed"}, c.events(name))
		require.Equal(t, v1.ClaimPending, c.claim(name).Status.Phase)
		require.Empty(t, c.claim(name).Annotations)
	}
	// hostPath's plugin could, were it not disabled, which it finds out late.
	require.Equal(t, []string{"Warning ProvisioningFailed"}, c.events("disabled"))
	require.Contains(t, c.engine.Trace().String(), `Failed to create provisioner: provisioning in volume plugin "kubernetes.io/host-path" is disabled`)
	require.Equal(t, map[string]string{
		"volume.kubernetes.io/storage-provisioner":      "kubernetes.io/host-path",
		"volume.beta.kubernetes.io/storage-provisioner": "kubernetes.io/host-path",
	}, c.claim("disabled").Annotations)
}

// Recorded: a plugin is asked for a volume with content before the claim is marked as its, and for mount options afterwards.
func TestAPluginMakesNoVolumeWithContentOrMountOptions(t *testing.T) {
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.class("hostpath", "kubernetes.io/host-path", storagev1.VolumeBindingImmediate)
	c.class("options", "kubernetes.io/host-path", storagev1.VolumeBindingImmediate,
		func(class *storagev1.StorageClass) { class.MountOptions = []string{"ro", "soft"} })
	c.settle()
	c.claimed("copy", ofClass("hostpath"), func(claim *v1.PersistentVolumeClaim) {
		claim.Spec.DataSource = &v1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: "original"}
	})
	c.claimed("mounted", ofClass("options"))
	c.settle()
	require.Contains(t, c.engine.Trace().String(), `plugin "kubernetes.io/host-path" is not a CSI plugin. Only CSI plugin can provision a claim with a datasource`)
	require.Empty(t, c.claim("copy").Annotations)
	require.Contains(t, c.engine.Trace().String(), `Mount options are not supported by the provisioner but StorageClass "options" has mount options [ro soft]`)
	require.Len(t, c.claim("mounted").Annotations, 2)
}

func TestTwoVolumesReservedForOneClaim(t *testing.T) {
	atEverySeed(t, 10, func(c *cluster) {
		c.offered("a", "9Gi", reservedFor("data"))
		c.offered("b", "5Gi", reservedFor("data"))
		c.settle()
		c.claimed("data")
		c.resync()
		other := c.requireOneBound("data", "a", "b") // whatever their sizes
		require.Equal(c, v1.VolumeAvailable, other.Status.Phase)
		require.Empty(c, other.Spec.ClaimRef.UID)
	})
}

func TestAReservedVolumeOfTheWrongModeIsReportedOnBoth(t *testing.T) {
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.settle()
	claim := c.claimed("data")
	c.settle()
	c.offered("pv", "5Gi", reservedFor("data"), func(v *v1.PersistentVolume) {
		v.Spec.ClaimRef.UID = claim.UID
		v.Spec.VolumeMode = new(v1.PersistentVolumeBlock)
	})
	c.settle()
	require.Equal(t, []string{"Warning VolumeMismatch"}, c.events("pv"))
	require.Contains(t, c.events("data"), "Warning VolumeMismatch")
	require.Equal(t, v1.ClaimPending, c.claim("data").Status.Phase)
}

func TestTwoClaimsOfOneVolumeTheSecondIsLost(t *testing.T) {
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.offered("pv", "5Gi")
	c.settle()
	c.claimed("data")
	c.settle()
	c.claimed("thief", func(claim *v1.PersistentVolumeClaim) {
		claim.Spec.VolumeName = "pv"
		claim.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
	})
	c.resync()
	c.requireBound("data", "pv")
	require.Equal(t, v1.ClaimLost, c.claim("thief").Status.Phase)
	require.Equal(t, []string{"Warning ClaimMisbound"}, c.events("thief"))
}

func TestHugeAndFractionalQuantitiesAreCompared(t *testing.T) {
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.offered("a", "4999999999999m")
	c.offered("b", "5T")
	c.settle()
	request := func(size string) func(*v1.PersistentVolumeClaim) {
		return func(claim *v1.PersistentVolumeClaim) {
			claim.Spec.Resources.Requests[v1.ResourceStorage] = resource.MustParse(size)
		}
	}
	c.claimed("just-more", request("5G"))
	c.claimed("too-much", request("8E"))
	c.settle()
	c.requireBound("just-more", "b")
	require.Equal(t, v1.ClaimPending, c.claim("too-much").Status.Phase)
}

func TestAClaimHasTheSizeFromBeforeAResizeIfThatIsAQuantity(t *testing.T) { // semantics 1.4
	for annotation, want := range map[string]string{"3Gi": "3Gi", "lots": "5Gi", "": "5Gi", "1e-2147483648": "5Gi", "1e2147483646": "5Gi"} {
		c := newCluster(t, engine.Config{}, pvcontroller.Config{})
		c.offered("pv", "5Gi", annotated("volume.alpha.kubernetes.io/pre-resize-capacity="+annotation))
		c.settle()
		c.claimed("data")
		c.settle()
		c.requireBound("data", "pv")
		require.Equal(t, resource.MustParse(want), c.claim("data").Status.Capacity[v1.ResourceStorage], annotation)
	}
}
