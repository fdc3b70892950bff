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

// deleteVolumeOperation deletes a volume's asset, then the volume.
// Upstream: pv_controller.go deleteVolumeOperation and doDeleteVolume, v1.36.
func (c *controller) deleteVolumeOperation(ctx context.Context, volume *v1.PersistentVolume) error {
	deleter, external, err := c.findDeletablePlugin(volume)
	switch {
	case external:
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
// can delete volumes of its kind. external says that there is none because the asset
// is deleted by its provisioner, which acts on the phase Released.
// Upstream: pv_controller.go findDeletablePlugin, v1.36.
func (c *controller) findDeletablePlugin(volume *v1.PersistentVolume) (deleter Deleter, external bool, err error) {
	if name := volume.Annotations[binding.AnnDynamicallyProvisioned]; name != "" {
		deleter, found := c.cfg.Deleters[name]
		switch {
		case found:
			return deleter, false, nil
		case !strings.HasPrefix(name, inTreePrefix):
			return nil, true, nil
		}
		if _, known := c.recyclers[name]; known {
			return nil, false, errNotDeletable
		}
		return nil, false, fmt.Errorf("no volume plugin matched name: %s", name)
	}
	if volume.Spec.CSI != nil {
		return nil, true, nil
	}
	for _, name := range sortedKeys(c.cfg.Deleters) {
		if deleter := c.cfg.Deleters[name]; deleter.CanSupport(volume) {
			return deleter, false, nil
		}
	}
	err = errors.New("no volume plugin matched")
	if c.findRecyclablePlugin(volume) != nil {
		err = errNotDeletable
	}
	return nil, false, fmt.Errorf("error getting deleter volume plugin for volume %q: %w", volume.Name, err)
}

// errNotDeletable: there is a plugin, but it cannot delete.
// Upstream: pkg/volume FindDeletablePluginBySpec and FindDeletablePluginByName, v1.36.
var errNotDeletable = errors.New("no deletable volume plugin matched")
