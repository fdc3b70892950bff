package pvcontroller

import (
	"context"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
)

// reclaimVolume ends a volume whose claim is gone as its policy says. Deleting and
// recycling are operations of their own, as they may take long.
// Upstream: pv_controller.go reclaimVolume, v1.37.
func (c *controller) reclaimVolume(ctx context.Context, volume *v1.PersistentVolume) error {
	if volume.Annotations[binding.AnnMigratedTo] != "" {
		return nil // the CSI driver's provisioner acts on it
	}
	switch volume.Spec.PersistentVolumeReclaimPolicy {
	case v1.PersistentVolumeReclaimRetain:
		return nil
	case v1.PersistentVolumeReclaimRecycle:
		c.scheduleOperation("recycle", volume, c.recycleVolumeOperation)
		return nil
	case v1.PersistentVolumeReclaimDelete:
		if _, deleter, err := c.plugins.findDeletable(volume); deleter != nil || err != nil {
			c.scheduleOperation("delete", volume, c.deleteVolumeOperation)
		}
		return nil
	}
	return c.failVolume(ctx, volume, volumeUnknownReclaimPolicy, "Volume has unrecognized PersistentVolumeReclaimPolicy")
}

// failVolume marks the volume Failed and says why, once.
// Upstream: pv_controller.go updateVolumePhaseWithEvent, v1.37.
func (c *controller) failVolume(ctx context.Context, volume *v1.PersistentVolume, reason, message string) error {
	failed, err := c.updateVolumePhase(ctx, volume, v1.VolumeFailed, message)
	if err != nil || volume.Status.Phase == v1.VolumeFailed {
		return err
	}
	c.recorder.Event(failed, v1.EventTypeWarning, reason, message)
	return nil
}

// getReleased reads the volume and says whether it is still to be reclaimed. One that
// cannot be read is left for the next sync.
// Upstream: the beginning of pv_controller.go deleteVolumeOperation and
// recycleVolumeOperation, v1.37.
func (c *controller) getReleased(ctx context.Context, name string) (*v1.PersistentVolume, bool) {
	volume, err := c.client.CoreV1().PersistentVolumes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, false
	}
	return volume, c.isVolumeReleased(volume)
}

// isVolumeReleased reports whether the volume's claim is gone, or is bound to another
// volume.
// Upstream: pv_controller.go isVolumeReleased, v1.37.
func (c *controller) isVolumeReleased(volume *v1.PersistentVolume) bool {
	ref := volume.Spec.ClaimRef
	if ref == nil || ref.UID == "" {
		return false
	}
	claim, found := c.claims.get(claimRefKey(ref))
	if found && claim.UID == ref.UID {
		return claim.Spec.VolumeName != "" && claim.Spec.VolumeName != volume.Name
	}
	return true
}
