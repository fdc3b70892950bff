package csi_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/engine"
)

// Without a CSIDriver object a driver's volumes must be attached, which none does here.
func TestAPodThatWaitsForAnAttachmentGoesOnWhenTheDriverSaysThatItNeedsNone(t *testing.T) {
	w := newWorld(t, engine.Config{})
	w.listen()
	w.run(5 * time.Second)
	w.boundVolume("data", nil)
	w.create(pod("web", claim("data")))
	w.run(3 * time.Minute)
	require.Equal(t, v1.PodPending, w.phase("web"))
	require.Len(t, w.node().Status.VolumesInUse, 1)

	w.csiDriver(noAttach())
	w.run(time.Minute)
	require.Equal(t, v1.PodRunning, w.phase("web"))
	require.Empty(t, w.node().Status.VolumesInUse)
	w.delete("web")
	w.run(time.Minute)
	w.requireNothingLeft()
}

func TestAnAttachedVolumeStaysInUseThoughItsDriverNeedsNoAttachmentAnyMore(t *testing.T) {
	required := true
	w := withDriver(t, engine.Config{}, storagev1.CSIDriverSpec{AttachRequired: &required})
	w.boundVolume("data", nil)
	w.create(pod("web", claim("data")))
	w.run(5 * time.Second)
	w.attachment("data")
	node := w.node().DeepCopy()
	node.Status.VolumesAttached = []v1.AttachedVolume{{Name: v1.UniqueVolumeName("kubernetes.io/csi/" + driverName + "^vol-data")}}
	_, err := w.user.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{})
	require.NoError(t, err)
	w.run(10 * time.Second)
	require.Equal(t, v1.PodRunning, w.phase("web"))

	require.NoError(t, w.user.StorageV1().CSIDrivers().Delete(t.Context(), driverName, metav1.DeleteOptions{}))
	w.csiDriver(noAttach())
	w.run(time.Minute)
	require.Len(t, w.node().Status.VolumesInUse, 1)
	w.delete("web")
	w.run(time.Minute)
	w.requireNothingLeft()
	require.Empty(t, w.node().Status.VolumesInUse)
}
