package pvcontroller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
)

// deletedExternally: the volume's asset is for somebody else to delete, who acts on
// the phase Released.
// Upstream: pv_controller.go findDeletablePlugin, where the plugin is nil, v1.36.
func deletedExternally(volume *v1.PersistentVolume) bool {
	provisioner := volume.Annotations[binding.AnnDynamicallyProvisioned]
	return provisioner != "" && !strings.HasPrefix(provisioner, inTreePrefix) || volume.Spec.CSI != nil
}

// deleteVolumeOperation deletes a volume's asset, then the volume.
// Upstream: pv_controller.go deleteVolumeOperation, v1.36.
func (c *controller) deleteVolumeOperation(ctx context.Context, name string) error {
	volume, toReclaim, err := c.getReleased(ctx, name)
	if err != nil || !toReclaim {
		return err
	}
	deleter, err := c.findDeletablePlugin(volume)
	if err != nil {
		// A quirk of upstream's: the failure is said, but counts as done, so there is no
		// backoff.
		return c.failVolume(ctx, volume, volumeFailedDelete, err.Error())
	}
	err = deleter.Delete(ctx, volume)
	if errors.Is(err, ErrVolumeInUse) {
		c.recorder.Event(volume, v1.EventTypeNormal, volumeDelete, err.Error())
		return err
	}
	if err != nil {
		return errors.Join(err, c.failVolume(ctx, volume, volumeFailedDelete, err.Error()))
	}
	return c.removeVolume(ctx, volume)
}

// removeVolume lets go of a volume whose asset is deleted.
// Upstream: the end of pv_controller.go deleteVolumeOperation, v1.36.
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

// findDeletablePlugin is the plugin that made the volume, else the first by name that
// can delete volumes of its kind.
// Upstream: pv_controller.go findDeletablePlugin, v1.36.
func (c *controller) findDeletablePlugin(volume *v1.PersistentVolume) (Deleter, error) {
	if name := volume.Annotations[binding.AnnDynamicallyProvisioned]; name != "" {
		if deleter, found := c.cfg.Deleters[name]; found {
			return deleter, nil
		}
		return nil, fmt.Errorf("no deletable volume plugin matched name: %s", name)
	}
	for _, name := range sortedKeys(c.cfg.Deleters) {
		if deleter := c.cfg.Deleters[name]; deleter.CanSupport(volume) {
			return deleter, nil
		}
	}
	return nil, fmt.Errorf("error getting deleter volume plugin for volume %q: no deletable volume plugin matched", volume.Name)
}
