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
	keys := []string{binding.AnnStorageProvisioner, binding.AnnBetaStorageProvisioner}
	if _, changes := migratedTo(claim.Annotations, keys...); !changes {
		return claim, nil
	}
	clone := claim.DeepCopy()
	updateMigrationAnnotations(&clone.ObjectMeta, keys...)
	return c.updateClaim(ctx, clone)
}

// updateVolumeMigrationAnnotationsAndFinalizers writes on a volume which CSI driver has replaced the plugin that made it, and adds or removes
// the finalizers that protect its deletion, in one update if that changes anything.
// Upstream: pv_controller_base.go updateVolumeMigrationAnnotationsAndFinalizers, v1.37.2.
func (c *controller) updateVolumeMigrationAnnotationsAndFinalizers(ctx context.Context, volume *v1.PersistentVolume) (*v1.PersistentVolume, error) {
	_, changes := migratedTo(volume.Annotations, binding.AnnDynamicallyProvisioned)
	finalizers, modified := modifyDeletionFinalizers(volume)
	if !changes && !modified {
		return volume, nil
	}
	clone := volume.DeepCopy()
	updateMigrationAnnotations(&clone.ObjectMeta, binding.AnnDynamicallyProvisioned)
	clone.Finalizers = finalizers
	return c.updateVolume(ctx, clone)
}

// migratedTo returns the CSI driver that has replaced the provisioner which the first of the keys that is there names, "" for none, and
// whether the annotation migrated-to says otherwise. It looks only, since nearly all objects stay as they are.
// Upstream: pv_controller_base.go updateMigrationAnnotations, v1.37.2.
func migratedTo(annotations map[string]string, keys ...string) (driver string, changes bool) {
	for _, key := range keys {
		if provisioner, ok := annotations[key]; ok {
			driver = migration.Driver(provisioner)
			return driver, driver != annotations[binding.AnnMigratedTo]
		}
	}
	return "", false
}

// updateMigrationAnnotations sets or removes the annotation migrated-to, as migratedTo says.
// Upstream: pv_controller_base.go updateMigrationAnnotations, v1.37.2.
func updateMigrationAnnotations(obj *metav1.ObjectMeta, keys ...string) {
	switch driver, changes := migratedTo(obj.Annotations, keys...); {
	case !changes:
	case driver == "":
		delete(obj.Annotations, binding.AnnMigratedTo)
	default:
		obj.Annotations[binding.AnnMigratedTo] = driver
	}
}
