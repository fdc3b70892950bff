package provisioner

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/binding"
)

// shouldDelete reports whether the volume's asset and object are to be deleted,
// and if not, why not.
//
// Upstream: controller.go shouldDelete, v13.
func (ctrl *provisionController) shouldDelete(ctx context.Context, volume *v1.PersistentVolume) (should bool, reason string) {
	if ctrl.guardRefuses(ctx, volume) {
		return false, "the provisioner's guard refuses"
	}
	if volume.DeletionTimestamp != nil {
		switch {
		case !ctrl.cfg.AddFinalizer:
			// Protection keeps the object a while after it was deleted here.
			return false, "it is being deleted"
		case !slices.Contains(volume.Finalizers, binding.PVDeletionProtectionFinalizer):
			return false, "it is being deleted and its finalizer is gone: its asset was deleted"
		}
	}
	if volume.Status.Phase != v1.VolumeReleased {
		return false, fmt.Sprintf("its phase is %s, not Released", volume.Status.Phase)
	}
	if policy := volume.Spec.PersistentVolumeReclaimPolicy; policy != v1.PersistentVolumeReclaimDelete {
		return false, fmt.Sprintf("its reclaim policy is %s", policy)
	}
	return true, ""
}
