package control

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The resources of the storage plane, each in the version that controllers use.

// Pods returns the resource pods.
func Pods() schema.GroupVersionResource { return v1.SchemeGroupVersion.WithResource("pods") }

// Nodes returns the resource nodes.
func Nodes() schema.GroupVersionResource { return v1.SchemeGroupVersion.WithResource("nodes") }

// PersistentVolumes returns the resource persistentvolumes.
func PersistentVolumes() schema.GroupVersionResource {
	return v1.SchemeGroupVersion.WithResource("persistentvolumes")
}

// PersistentVolumeClaims returns the resource persistentvolumeclaims.
func PersistentVolumeClaims() schema.GroupVersionResource {
	return v1.SchemeGroupVersion.WithResource("persistentvolumeclaims")
}

// StorageClasses returns the resource storageclasses.
func StorageClasses() schema.GroupVersionResource {
	return storagev1.SchemeGroupVersion.WithResource("storageclasses")
}

// CSIDrivers returns the resource csidrivers.
func CSIDrivers() schema.GroupVersionResource {
	return storagev1.SchemeGroupVersion.WithResource("csidrivers")
}

// CSINodes returns the resource csinodes.
func CSINodes() schema.GroupVersionResource {
	return storagev1.SchemeGroupVersion.WithResource("csinodes")
}

// CSIStorageCapacities returns the resource csistoragecapacities.
func CSIStorageCapacities() schema.GroupVersionResource {
	return storagev1.SchemeGroupVersion.WithResource("csistoragecapacities")
}

// Leases returns the resource leases.
func Leases() schema.GroupVersionResource {
	return coordinationv1.SchemeGroupVersion.WithResource("leases")
}

// VolumeAttachments returns the resource volumeattachments.
func VolumeAttachments() schema.GroupVersionResource {
	return storagev1.SchemeGroupVersion.WithResource("volumeattachments")
}

// VolumeAttributesClasses returns the resource volumeattributesclasses.
func VolumeAttributesClasses() schema.GroupVersionResource {
	return storagev1.SchemeGroupVersion.WithResource("volumeattributesclasses")
}
