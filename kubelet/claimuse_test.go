package kubelet_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Upstream: actual_state_of_world.go IsVolumeMountedElsewhere, v1.37.
func TestAVolumeForOnePodOnlyWaitsUntilTheOtherPodIsGone(t *testing.T) {
	for name, c := range map[string]struct {
		modes  []v1.PersistentVolumeAccessMode
		shared bool
	}{
		"for one pod":       {[]v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod}, false},
		"for all of a node": {[]v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := simple(t)
			w.boundVolume("data", func(pv *v1.PersistentVolume) { pv.Spec.AccessModes = c.modes })
			w.create(pod("one", claim("data")))
			w.settle()
			w.create(pod("two", claim("data")))
			w.settle()
			if c.shared {
				require.Equal(t, v1.PodRunning, w.get("two").Status.Phase)
				return
			}
			require.Equal(t, v1.PodPending, w.get("two").Status.Phase)
			w.requireEvent("two", "FailedMount",
				`MountVolume.SetUp failed for volume "pv-data" : volume uses the ReadWriteOncePod access mode and is already in use by another pod`)
			require.Len(t, w.mounts(), 1)
			w.delete("one")
			require.NoError(t, w.e.RunFor(5*time.Minute))
			require.Equal(t, v1.PodRunning, w.get("two").Status.Phase)
		})
	}
}

// Upstream: desired_state_of_world_populator.go getPVCExtractPV, v1.37.
func TestAClaimThatIsBeingDeletedIsUsedOnlyWhileItIsProtected(t *testing.T) {
	for finalizer, phase := range map[string]v1.PodPhase{"kubernetes.io/pvc-protection": v1.PodRunning, "example.com/keep": v1.PodPending} {
		t.Run(finalizer, func(t *testing.T) {
			w := simple(t)
			w.boundVolume("data", nil)
			claims, ctx := w.user.CoreV1().PersistentVolumeClaims("default"), context.Background()
			pvc, err := claims.Get(ctx, "data", metav1.GetOptions{})
			require.NoError(t, err)
			pvc.Finalizers = []string{finalizer}
			_, err = claims.Update(ctx, pvc, metav1.UpdateOptions{})
			require.NoError(t, err)
			require.NoError(t, claims.Delete(ctx, "data", metav1.DeleteOptions{}))
			w.create(pod("web", claim("data")))
			w.settle()
			require.Equal(t, phase, w.get("web").Status.Phase)
			if phase == v1.PodPending {
				w.requireEvent("web", "FailedMount", "error processing PVC default/data: PVC is being deleted")
				require.Empty(t, w.mounts())
			}
		})
	}
}
