package pvcontroller_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/pvcontroller"
)

func TestAnExternalClaimIsAnnotatedForItsProvisioner(t *testing.T) { // semantics 1 must 12
	atEverySeed(t, 5, func(c *cluster) {
		c.class("now", "example.com/ext", storagev1.VolumeBindingImmediate)
		c.class("later", "example.com/ext", storagev1.VolumeBindingWaitForFirstConsumer)
		c.settle()
		c.claimed("now", ofClass("now"))
		c.claimed("later", ofClass("later"))
		c.resync()
		both := map[string]string{
			"volume.kubernetes.io/storage-provisioner":      "example.com/ext",
			"volume.beta.kubernetes.io/storage-provisioner": "example.com/ext",
		}
		require.Equal(c, both, c.claim("now").Annotations)
		require.Equal(c, []string{"Normal ExternalProvisioning"}, c.events("now"))
		require.Empty(c, c.claim("later").Annotations)
		require.Equal(c, []string{"Normal WaitForFirstConsumer"}, c.events("later"))

		c.patchClaim("later", `{"metadata":{"annotations":{"volume.kubernetes.io/selected-node":"node-1"}}}`)
		c.settle()
		both["volume.kubernetes.io/selected-node"] = "node-1"
		require.Equal(c, both, c.claim("later").Annotations)
	})
}

func TestTheNameOfAProvisionerThatHasChangedIsWrittenAnew(t *testing.T) {
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.class("now", "example.com/ext", storagev1.VolumeBindingImmediate)
	c.settle()
	c.claimed("data", ofClass("now"), func(claim *v1.PersistentVolumeClaim) {
		claim.Annotations = map[string]string{"volume.kubernetes.io/storage-provisioner": "example.com/before"}
	})
	c.resync()
	require.Equal(t, "example.com/ext", c.claim("data").Annotations["volume.kubernetes.io/storage-provisioner"])
}

// An annotation migrated-to that does not fit the provisioner's name is removed.
// Upstream: pv_controller_base.go updateMigrationAnnotations, v1.37.2.
func TestAMigrationAnnotationThatDoesNotFitIsRemoved(t *testing.T) {
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.class("ebs", "kubernetes.io/aws-ebs", storagev1.VolumeBindingImmediate)
	c.settle()
	c.claimed("data", ofClass("ebs"), func(claim *v1.PersistentVolumeClaim) {
		claim.Annotations = map[string]string{"pv.kubernetes.io/migrated-to": "ebs.csi.aws.com"}
	})
	c.resync()
	require.Equal(t, map[string]string{
		"volume.kubernetes.io/storage-provisioner":      "ebs.csi.aws.com",
		"volume.beta.kubernetes.io/storage-provisioner": "ebs.csi.aws.com",
	}, c.claim("data").Annotations)
	require.Equal(t, []string{"Normal ExternalProvisioning"}, c.events("data"))
}

// A class of a plugin that a CSI driver has replaced is handed to that driver, and a claim that names the plugin already is marked.
func TestClassesOfMigratedPluginsAreHandedToTheirDrivers(t *testing.T) {
	for plugin, driver := range map[string]string{
		"kubernetes.io/gce-pd": "pd.csi.storage.gke.io", "kubernetes.io/aws-ebs": "ebs.csi.aws.com", "kubernetes.io/azure-disk": "disk.csi.azure.com",
		"kubernetes.io/azure-file": "file.csi.azure.com", "kubernetes.io/cinder": "cinder.csi.openstack.org",
		"kubernetes.io/vsphere-volume":  "csi.vsphere.vmware.com",
		"kubernetes.io/portworx-volume": "pxd.portworx.com", "kubernetes.io/rbd": "", "kubernetes.io/x": "",
	} {
		c := newCluster(t, engine.Config{}, pvcontroller.Config{})
		c.class("old", plugin, storagev1.VolumeBindingImmediate)
		c.settle()
		c.claimed("data", ofClass("old"))
		c.settle()
		if driver == "" {
			require.Equal(t, []string{"Warning ProvisioningFailed"}, c.events("data"), plugin)
			require.Empty(t, c.claim("data").Annotations)
			continue
		}
		require.Equal(t, []string{"Normal ExternalProvisioning"}, c.events("data"), plugin)
		require.Equal(t, map[string]string{"volume.kubernetes.io/storage-provisioner": driver, "volume.beta.kubernetes.io/storage-provisioner": driver},
			c.claim("data").Annotations)
		c.claimed("marked", ofClass("later"), func(claim *v1.PersistentVolumeClaim) {
			claim.Annotations = map[string]string{"volume.beta.kubernetes.io/storage-provisioner": plugin}
		})
		c.settle()
		require.Equal(t, driver, c.claim("marked").Annotations["pv.kubernetes.io/migrated-to"])
	}
}

// A volume of a migrated plugin is marked and loses the finalizer of this controller in one update.
func TestAVolumeThatAMigratedPluginHasMadeIsMarked(t *testing.T) {
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.offered("pv", "5Gi", func(pv *v1.PersistentVolume) {
		pv.Annotations = map[string]string{"pv.kubernetes.io/provisioned-by": "kubernetes.io/gce-pd"}
		pv.Finalizers = []string{"kubernetes.io/pv-controller", "external-provisioner.volume.kubernetes.io/finalizer"}
	})
	since := c.engine.Trace().Len()
	c.settle()
	require.Equal(t, "pd.csi.storage.gke.io", c.volume("pv").Annotations["pv.kubernetes.io/migrated-to"])
	require.NotContains(t, c.volume("pv").Finalizers, "kubernetes.io/pv-controller")
	require.Contains(t, c.volume("pv").Finalizers, "external-provisioner.volume.kubernetes.io/finalizer")
	require.Equal(t, []string{"update persistentvolumes", "update persistentvolumes/status"}, c.writes("pv", since))
}

func TestAVolumeMadeForAClaimIsBoundAtOnce(t *testing.T) { // semantics 1.5 step 4
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.class("manual", "example.com/ext", storagev1.VolumeBindingImmediate)
	claim := c.claimed("data")
	c.settle()
	c.offered("pv", "5Gi", reservedFor("data"), withUID(string(claim.UID)))
	since := c.engine.Trace().Len()
	c.settle() // and not at the next resync
	c.requireBound("data", "pv")
	require.Equal(t, []string{"update persistentvolumes/status"}, c.writes("pv", since), "claimRef is as it shall be")
}

func TestAProvisionedVolumeWhoseClaimIsBoundElsewhereIsReleased(t *testing.T) {
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.offered("first", "5Gi")
	c.settle()
	claim := c.claimed("data")
	c.settle()
	made := annotated("pv.kubernetes.io/provisioned-by=example.com/ext")
	c.offered("spare", "5Gi", reservedFor("data"), policy(v1.PersistentVolumeReclaimDelete), made, withUID(string(claim.UID)))
	c.offered("kept", "5Gi", reservedFor("data"), policy(v1.PersistentVolumeReclaimRetain), made, withUID(string(claim.UID)))
	c.offered("by-hand", "5Gi", reservedFor("data"), policy(v1.PersistentVolumeReclaimDelete), withUID(string(claim.UID)))
	c.resync()
	require.Equal(t, v1.VolumeAvailable, c.volume("by-hand").Status.Phase, "nobody made it for this claim: its data stay")
	require.Empty(t, c.volume("by-hand").Spec.ClaimRef.UID)
	require.Equal(t, v1.VolumeReleased, c.volume("spare").Status.Phase)
	require.NotNil(t, c.volume("spare").Spec.ClaimRef)
	require.Equal(t, v1.VolumeAvailable, c.volume("kept").Status.Phase, "what is not to be deleted is unbound")
	require.Empty(t, c.volume("kept").Spec.ClaimRef.UID)
}

func TestAProvisionerThatCannotBeWrittenOnTheClaimIsSaid(t *testing.T) {
	c := newCluster(t, engine.Config{}, pvcontroller.Config{})
	c.class("now", "example.com/ext", storagev1.VolumeBindingImmediate)
	c.settle()
	require.NoError(t, c.engine.Inject(engine.Fault{
		Actor: pvcontroller.ActorName, Verb: "update", Resource: "persistentvolumeclaims", Err: apierrors.NewTimeoutError("no", 0),
	}))
	c.claimed("data", ofClass("now"))
	c.settle()
	require.Equal(t, []string{"Warning ProvisioningFailed", "Normal ExternalProvisioning"}, c.events("data"))
	require.Contains(t, c.engine.Trace().String(), "ProvisioningFailed: Error saving claim: Timeout: no")
	require.Contains(t, c.claim("data").Annotations, "volume.kubernetes.io/storage-provisioner")
}
