package provisioner

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// countProvisioned counts a volume made for the claim.
//
// Upstream: controller.go updateProvisionStats, v13.
func (ctrl *provisionController) countProvisioned(claim *v1.PersistentVolumeClaim, began time.Time) {
	labels := claimLabels(claim)
	ctrl.cfg.Counters.PersistentVolumeClaimProvisionTotal.inc(labels)
	ctrl.cfg.Counters.PersistentVolumeClaimProvisionDurationSeconds.observe(labels, ctrl.env.Now().Sub(began))
}

// countProvisionFailed counts an attempt that failed.
func (ctrl *provisionController) countProvisionFailed(claim *v1.PersistentVolumeClaim) {
	ctrl.cfg.Counters.PersistentVolumeClaimProvisionFailedTotal.inc(claimLabels(claim))
}

// claimLabels returns the labels of a claim. The class is spec.storageClassName, not the old
// annotation.
func claimLabels(claim *v1.PersistentVolumeClaim) Labels {
	var labels Labels
	if claim.Spec.StorageClassName != nil {
		labels.Class = *claim.Spec.StorageClassName
	}
	if claim.Spec.DataSource != nil {
		labels.Source = claim.Spec.DataSource.Kind
	}
	return labels
}

// updateDeleteStats counts a deletion, or that it failed; not that it must wait.
//
// Upstream: controller.go updateDeleteStats, v13.1.
func (ctrl *provisionController) updateDeleteStats(volume *v1.PersistentVolume, err error, began time.Time) {
	labels := Labels{Class: volume.Spec.StorageClassName}
	if _, inUse := err.(*VolumeInUseError); inUse { //nolint:errorlint // Upstream looks at the direct type only.
		return
	}
	if err != nil {
		ctrl.cfg.Counters.PersistentVolumeDeleteFailedTotal.inc(labels)
		return
	}
	ctrl.cfg.Counters.PersistentVolumeDeleteTotal.inc(labels)
	ctrl.cfg.Counters.PersistentVolumeDeleteDurationSeconds.observe(labels, ctrl.env.Now().Sub(began))
}
