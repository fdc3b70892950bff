package pvcontroller

import (
	"context"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
)

// recycleVolumeOperation scrubs a volume and makes it Available again. It never fails:
// as upstream's, it is not held back after a failure, and the next sync tries again.
// Upstream: pv_controller.go recycleVolumeOperation, v1.37.
func (c *controller) recycleVolumeOperation(ctx context.Context, volume *v1.PersistentVolume) error {
	stored, toReclaim := c.getReleased(ctx, volume.Name)
	if !toReclaim {
		return nil
	}
	// A claim that is there is another of that name, and so are its pods.
	_, another := c.claims.get(claimRefKey(stored.Spec.ClaimRef))
	if pods := c.podsUsing(stored); len(pods) > 0 && !another {
		c.recorder.Eventf(volume, v1.EventTypeNormal, volumeFailedRecycle, "Volume is used by pods: %s", strings.Join(pods, ","))
		return nil
	}
	if failure := c.recycle(ctx, stored); failure != "" {
		// One that cannot be written down is found again by the next sync.
		_ = c.failVolume(ctx, stored, volumeFailedRecycle, failure)
		return nil
	}
	c.recorder.Event(stored, v1.EventTypeNormal, volumeRecycled, "Volume recycled")
	_ = c.unbindVolume(ctx, stored) // a volume that was changed meanwhile is recycled once more
	return nil
}

// recycle has the volume scrubbed, and says why it could not be; "" if it could.
func (c *controller) recycle(ctx context.Context, volume *v1.PersistentVolume) (failure string) {
	_, recycler := c.plugins.findRecyclable(volume)
	if recycler == nil {
		return "No recycler plugin found for the volume!"
	}
	if err := recycler.Recycle(ctx, volume); err != nil {
		return "Recycle failed: " + err.Error()
	}
	return ""
}

// podsUsing returns the keys of the pods that use the volume's claim and have not ended,
// in order.
// Upstream: pv_controller.go isVolumeUsed, v1.37.
func (c *controller) podsUsing(volume *v1.PersistentVolume) []string {
	var keys []string
	for _, pod := range c.pods.ByIndex(podsByClaim, claimRefKey(volume.Spec.ClaimRef)) {
		if !binding.IsPodTerminated(pod) {
			keys = append(keys, control.Key(pod))
		}
	}
	return keys
}
