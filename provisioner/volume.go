package provisioner

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/trace"
)

// Upstream: controller.go syncVolumeHandler, v13.
func (ctrl *provisionController) syncVolumeHandler(ctx context.Context, name string) error {
	volume, ok := ctrl.volumes.Get(name)
	if !ok {
		return nil
	}
	return ctrl.syncVolume(ctx, volume)
}

// syncVolume deletes the volume if it should be, and keeps its finalizer.
//
// Upstream: controller.go syncVolume, v13.
func (ctrl *provisionController) syncVolume(ctx context.Context, volume *v1.PersistentVolume) error {
	if !ctrl.isProvisionerForVolume(volume) {
		return nil
	}
	volume, err := ctrl.handleProtectionFinalizer(ctx, volume)
	if err != nil {
		return err
	}
	should, reason := ctrl.shouldDelete(ctx, volume)
	if !should {
		if volume.Status.Phase == v1.VolumeReleased && volume.DeletionTimestamp == nil {
			ctrl.env.Trace(trace.Decision{About: trace.RefOf("PersistentVolume", volume), Text: "does not delete: " + reason})
		}
		return nil
	}
	began := ctrl.env.Now()
	err = ctrl.deleteVolumeOperation(ctx, volume)
	ctrl.updateDeleteStats(volume, err, began)
	return err
}

// isProvisionerForVolume reports whether the volume was made by this provisioner,
// was handed to it by CSI migration, or is a static volume of its CSI driver.
// A static CSI volume is asked for its driver alone.
//
// Upstream: controller.go isProvisionerForVolume, v13.
func (ctrl *provisionController) isProvisionerForVolume(volume *v1.PersistentVolume) bool {
	if by, ok := volume.Annotations[binding.AnnDynamicallyProvisioned]; ok {
		return ctrl.knownProvisioner(by) || ctrl.knownProvisioner(volume.Annotations[binding.AnnMigratedTo])
	}
	if volume.Spec.CSI != nil {
		return ctrl.knownProvisioner(volume.Spec.CSI.Driver)
	}
	return ctrl.knownProvisioner(volume.Annotations[binding.AnnMigratedTo])
}
