package pvcontroller

import (
	"context"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/binding"
)

// inTreePrefix begins the names of plugins that are compiled into Kubernetes.
const inTreePrefix = "kubernetes.io/"

// updateVolumeFinalizers adds or removes the finalizers that protect the deletion of an
// in-tree volume, if that changes anything.
// Upstream: pv_controller.go updateVolumeMigrationAnnotationsAndFinalizers, v1.36.
func (c *controller) updateVolumeFinalizers(ctx context.Context, volume *v1.PersistentVolume) (*v1.PersistentVolume, error) {
	finalizers, modified := modifyDeletionFinalizers(volume)
	if !modified {
		return volume, nil
	}
	clone := volume.DeepCopy()
	clone.Finalizers = finalizers
	return c.updateVolume(ctx, clone)
}

// modifyDeletionFinalizers returns the finalizers a volume shall have, and whether they
// differ from those it has. Only volumes made by an in-tree plugin are touched: this
// controller will delete their assets if the policy is Delete, and must not lose the
// volume before.
// Upstream: pv_controller.go modifyDeletionFinalizers, v1.36.
func modifyDeletionFinalizers(volume *v1.PersistentVolume) (finalizers []string, modified bool) {
	if !strings.HasPrefix(volume.Annotations[binding.AnnDynamicallyProvisioned], inTreePrefix) {
		return volume.Finalizers, false
	}
	migrated := volume.Annotations[binding.AnnMigratedTo] != ""
	ours := !migrated && volume.Spec.PersistentVolumeReclaimPolicy == v1.PersistentVolumeReclaimDelete
	finalizers = slices.DeleteFunc(slices.Clone(volume.Finalizers), func(f string) bool {
		return f == binding.PVDeletionInTreeProtectionFinalizer && !ours ||
			f == binding.PVDeletionProtectionFinalizer && !migrated
	})
	if ours && volume.DeletionTimestamp == nil && !slices.Contains(finalizers, binding.PVDeletionInTreeProtectionFinalizer) {
		finalizers = append(finalizers, binding.PVDeletionInTreeProtectionFinalizer)
	}
	return finalizers, !slices.Equal(finalizers, volume.Finalizers)
}
