package pvcontroller

import (
	"context"
	"errors"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// recycleVolumeOperation scrubs a volume and makes it Available again.
// Upstream: pv_controller.go recycleVolumeOperation, v1.36.
func (c *controller) recycleVolumeOperation(ctx context.Context, name string) error {
	volume, toReclaim, err := c.getReleased(ctx, name)
	if err != nil || !toReclaim {
		return err
	}
	if pods := c.podsUsing(volume); len(pods) > 0 {
		c.recorder.Eventf(volume, v1.EventTypeNormal, volumeFailedRecycle, "Volume is used by pods: %s", strings.Join(pods, ","))
		return nil
	}
	recycler := c.findRecyclablePlugin(volume)
	if recycler == nil {
		return c.failVolume(ctx, volume, volumeFailedRecycle, "No recycler plugin found for the volume!")
	}
	if err := recycler.Recycle(ctx, volume); err != nil {
		return errors.Join(err, c.failVolume(ctx, volume, volumeFailedRecycle, "Recycle failed: "+err.Error()))
	}
	c.recorder.Event(volume, v1.EventTypeNormal, volumeRecycled, "Volume recycled")
	volume, toReclaim, err = c.getReleased(ctx, name)
	if err != nil || !toReclaim {
		return err
	}
	return c.unbindVolume(ctx, volume)
}

// podsUsing are the names of the pods that use the volume's claim and have not ended.
// Upstream: pv_controller.go isVolumeUsed, v1.36.
func (c *controller) podsUsing(volume *v1.PersistentVolume) []string {
	var names []string
	for _, pod := range c.pods.ByIndex(podsByClaim, claimRefKey(volume.Spec.ClaimRef)) {
		if !terminated(pod) {
			names = append(names, pod.Name)
		}
	}
	return names
}

// findRecyclablePlugin is the first recycler by name that can scrub volumes of this
// kind, nil if there is none.
// Upstream: pkg/volume FindRecyclablePluginBySpec, v1.36.
func (c *controller) findRecyclablePlugin(volume *v1.PersistentVolume) Recycler {
	for _, name := range sortedKeys(c.recyclers) {
		if recycler := c.recyclers[name]; recycler.CanSupport(volume) {
			return recycler
		}
	}
	return nil
}
