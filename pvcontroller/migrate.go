package pvcontroller

import (
	"context"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/internal/migration"
)

// updateClaimMigrationAnnotations writes on a claim which CSI driver has replaced its provisioner, if that changes anything.
// Upstream: pv_controller_base.go updateClaimMigrationAnnotations, v1.37.2.
func (c *controller) updateClaimMigrationAnnotations(ctx context.Context, claim *v1.PersistentVolumeClaim) (*v1.PersistentVolumeClaim, error) {
	clone := claim.DeepCopy()
	if !updateMigrationAnnotations(&clone.ObjectMeta, binding.AnnStorageProvisioner, binding.AnnBetaStorageProvisioner) {
		return claim, nil
	}
	return c.updateClaim(ctx, clone)
}

// updateVolumeMigrationAnnotationsAndFinalizers writes on a volume which CSI driver has replaced the plugin that made it, and adds or removes
// the finalizers that protect its deletion, in one update if that changes anything.
// Upstream: pv_controller_base.go updateVolumeMigrationAnnotationsAndFinalizers, v1.37.2.
func (c *controller) updateVolumeMigrationAnnotationsAndFinalizers(ctx context.Context, volume *v1.PersistentVolume) (*v1.PersistentVolume, error) {
	clone := volume.DeepCopy()
	annotated := updateMigrationAnnotations(&clone.ObjectMeta, binding.AnnDynamicallyProvisioned)
	finalizers, modified := modifyDeletionFinalizers(volume)
	if !annotated && !modified {
		return volume, nil
	}
	clone.Finalizers = finalizers
	return c.updateVolume(ctx, clone)
}

// updateMigrationAnnotations sets or removes the annotation migrated-to by the provisioner that the first of the keys that is there names. It
// reports whether it has changed anything.
// Upstream: pv_controller_base.go updateMigrationAnnotations, v1.37.2.
func updateMigrationAnnotations(obj *metav1.ObjectMeta, keys ...string) bool {
	for _, key := range keys {
		provisioner, ok := obj.Annotations[key]
		if !ok {
			continue
		}
		driver, was := migration.Driver(provisioner), obj.Annotations[binding.AnnMigratedTo]
		switch {
		case driver == was:
			return false
		case driver == "":
			delete(obj.Annotations, binding.AnnMigratedTo)
		default:
			obj.Annotations[binding.AnnMigratedTo] = driver
		}
		return true
	}
	return false
}
