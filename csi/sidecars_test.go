package csi_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/csi/call"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/csi/provisioner"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/internal/rigs/csitest"
	"github.com/storagesim/storagesim/storagesimtest"
)

const plainClaim = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: plain.csi.example.com
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  storageClassName: fast
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
`

func newPlain(t *testing.T) (*storagesimtest.Cluster, *csitest.Driver) {
	t.Helper()
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	driver := csitest.New()
	c.InstallCSIDriver(csi.Driver{
		Name: csitest.Name, Identity: driver, Controller: driver,
		Sidecars: csi.Sidecars{Provisioner: func(cfg *provisioner.Config) { cfg.DefaultFSType = "xfs" }},
	})
	return c, driver
}

func TestAnInstalledDriverMakesAndDeletesTheVolumeOfAClaim(t *testing.T) {
	c, driver := newPlain(t)
	c.Apply(plainClaim)
	c.Settle()
	claim := c.Claim("data")
	require.Equal(t, "Bound", string(claim.Status.Phase), c.Story())
	require.Len(t, driver.Volumes, 1)
	volume, err := c.Client().CoreV1().PersistentVolumes().Get(t.Context(), claim.Spec.VolumeName, metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, "xfs", volume.Spec.CSI.FSType, "as Sidecars.Provisioner says")
	c.Delete("pvc/data")
	c.Settle()
	assert.Empty(t, driver.Volumes)
	list, err := c.Client().CoreV1().PersistentVolumes().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, list.Items)
}

// The answer of CreateVolume is lost, and the driver's process ends with it.
func TestAClaimSurvivesACrashOfTheDriver(t *testing.T) {
	c, driver := newPlain(t)
	c.Inject(call.Fault{Method: "CreateVolume", Crash: true, After: true, Times: 1})
	c.Apply(plainClaim)
	c.RunFor(time.Minute)
	claim := c.Claim("data")
	require.Equal(t, "Bound", string(claim.Status.Phase), c.Story())
	require.Len(t, driver.Volumes, 1)
}

func TestWhatTheDriverRefusesIsInTheEventsOfTheClaim(t *testing.T) {
	c, _ := newPlain(t)
	c.Inject(call.Fault{Method: "CreateVolume", Code: codes.Internal, Times: 2})
	c.Apply(plainClaim)
	c.RunFor(10 * time.Second)
	require.Equal(t, "Bound", string(c.Claim("data").Status.Phase), c.Story())
	require.Contains(t, c.Story(), "ProvisioningFailed")
}

func TestAClaimOfADriverThatDoesNotAnswerIsExplained(t *testing.T) {
	c, driver := newPlain(t)
	c.Apply(plainClaim)
	require.NotContains(t, c.Explain("pvc/data"), "no such provisioner runs here")
	driver.Name = "other.csi.example.com"
	c.Crash(csi.ProvisionerActor(csitest.Name))
	c.RunFor(time.Minute)
	require.Contains(t, c.Explain("pvc/data"),
		`provisioner plain.csi.example.com makes no volume for it: it cannot start: GetPluginInfo: the driver says that its name is "other.csi.example.com"`)
	driver.Name = csitest.Name
	c.Stop("csi-driver/" + csitest.Name)
	c.Crash(csi.ProvisionerActor(csitest.Name))
	c.RunFor(time.Minute)
	require.Contains(t, c.Explain("pvc/data"), "csi-driver/plain.csi.example.com, which is the driver's controller, is stopped")
}

func TestAVolumeOfADriverThatAttachesNothingIsExplained(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	c.InstallCSIDriver(driver.Config{})
	c.RunFor(5 * time.Second)
	c.Inject(call.Fault{Method: "Probe", Caller: csi.AttacherActor(driver.Name), Code: codes.Unavailable, Message: "not yet", Times: -1})
	c.Crash(csi.AttacherActor(driver.Name))
	c.Apply(clustertest.CSIManifests)
	c.RunFor(30 * time.Second)
	require.Contains(t, c.Explain("pod/web"),
		"waits for the attacher of driver csi.storagesim.io to set status.attached; it waits for its driver: Probe answers Unavailable")
	c.Lab().ClearFaults()
	c.RunFor(2 * time.Minute)
	require.NotContains(t, c.Explain("pod/web"), "waits for")
	c.RequireRunning("web")
}
