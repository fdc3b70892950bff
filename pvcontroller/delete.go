package pvcontroller

import (
	"context"
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
)

// deleteVolumeOperation deletes a volume's asset, then the volume.
// Upstream: pv_controller.go deleteVolumeOperation and doDeleteVolume, v1.37.
func (c *controller) deleteVolumeOperation(ctx context.Context, volume *v1.PersistentVolume) error {
	_, deleter, err := c.plugins.findDeletable(volume)
	switch {
	case err == nil && deleter == nil:
		return nil
	case err != nil:
		// A quirk of upstream's: the failure is said, but counts as done, so there is no
		// backoff.
		return c.failVolume(ctx, volume, volumeFailedDelete, err.Error())
	}
	stored, toReclaim := c.getReleased(ctx, volume.Name)
	if !toReclaim {
		return nil
	}
	err = deleter.Delete(ctx, stored)
	if errors.Is(err, ErrVolumeInUse) {
		c.recorder.Event(volume, v1.EventTypeNormal, volumeDelete, err.Error())
		return err
	}
	if err != nil {
		return errors.Join(err, c.failVolume(ctx, volume, volumeFailedDelete, err.Error()))
	}
	return c.removeVolume(ctx, stored)
}

// removeVolume deletes the PersistentVolume of a deleted asset.
// Upstream: the end of pv_controller.go deleteVolumeOperation, v1.37.
func (c *controller) removeVolume(ctx context.Context, volume *v1.PersistentVolume) error {
	ours := func(f string) bool { return f == binding.PVDeletionInTreeProtectionFinalizer }
	if slices.ContainsFunc(volume.Finalizers, ours) {
		clone := volume.DeepCopy()
		clone.Finalizers = slices.DeleteFunc(clone.Finalizers, ours)
		if _, err := c.updateVolume(ctx, clone); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	err := c.client.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
