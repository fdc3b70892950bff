package storage

import (
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim/api/internal/validation"
)

// The kinds of Kubernetes of which more than the metadata is validated.
// Upstream: Validate and ValidateUpdate of each kind's strategies, v1.37.

// Claims returns the validation of persistentvolumeclaims.
func Claims() validation.Kind {
	return validation.Typed[*v1.PersistentVolumeClaim]{
		Again: true,
		Create: func(p *validation.Problems, claim *v1.PersistentVolumeClaim) {
			CheckClaimSpec(p, &claim.Spec, validation.SpecPath, nil)
		},
		Update: checkClaimUpdate,
		Status: func(p *validation.Problems, claim, _ *v1.PersistentVolumeClaim) { checkClaimStatus(p, claim) },
	}.Kind()
}

// Volumes returns the validation of persistentvolumes.
func Volumes() validation.Kind {
	return validation.Typed[*v1.PersistentVolume]{Again: true, Create: checkVolume, Update: checkVolumeUpdate}.Kind()
}

// StorageClasses returns the validation of storageclasses.
func StorageClasses() validation.Kind {
	return validation.Typed[*storagev1.StorageClass]{
		Again: true, Create: checkStorageClass, Update: checkStorageClassUpdate,
	}.Kind()
}

// VolumeAttributesClasses returns the validation of volumeattributesclasses.
func VolumeAttributesClasses() validation.Kind {
	return validation.Typed[*storagev1.VolumeAttributesClass]{
		Again: true, Create: checkAttributesClass, Update: checkAttributesClassUpdate,
	}.Kind()
}

// VolumeAttachments returns the validation of volumeattachments.
func VolumeAttachments() validation.Kind {
	return validation.Typed[*storagev1.VolumeAttachment]{
		Again: true, Create: checkAttachment, Update: checkAttachmentUpdate,
		Status: func(p *validation.Problems, va, old *storagev1.VolumeAttachment) {
			validation.CheckPrefixAgain(p, va, validation.DNSSubdomain)
			checkAttachmentUpdate(p, va, old)
		},
	}.Kind()
}

// CSIDrivers returns the validation of csidrivers.
func CSIDrivers() validation.Kind {
	return validation.Typed[*storagev1.CSIDriver]{
		Create: func(p *validation.Problems, driver *storagev1.CSIDriver) { checkCSIDriver(p, &driver.Spec) },
		Update: checkCSIDriverUpdate,
	}.Kind()
}

// CSINodes returns the validation of csinodes.
func CSINodes() validation.Kind {
	return validation.Typed[*storagev1.CSINode]{Again: true, Create: checkCSINode, Update: checkCSINodeUpdate}.Kind()
}

// CSIStorageCapacities returns the validation of csistoragecapacities.
func CSIStorageCapacities() validation.Kind {
	return validation.Typed[*storagev1.CSIStorageCapacity]{
		Again: true, Create: checkStorageCapacity, Update: checkStorageCapacityUpdate,
	}.Kind()
}
