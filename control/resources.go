package control

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The resources of the storage plane, each in the version that controllers use.

// Pods is the resource pods.
func Pods() schema.GroupVersionResource { return v1.SchemeGroupVersion.WithResource("pods") }

// Nodes is the resource nodes.
func Nodes() schema.GroupVersionResource { return v1.SchemeGroupVersion.WithResource("nodes") }

// PersistentVolumes is the resource persistentvolumes.
func PersistentVolumes() schema.GroupVersionResource {
	return v1.SchemeGroupVersion.WithResource("persistentvolumes")
}

// PersistentVolumeClaims is the resource persistentvolumeclaims.
func PersistentVolumeClaims() schema.GroupVersionResource {
	return v1.SchemeGroupVersion.WithResource("persistentvolumeclaims")
}

// StorageClasses is the resource storageclasses.
func StorageClasses() schema.GroupVersionResource {
	return storagev1.SchemeGroupVersion.WithResource("storageclasses")
}

// CSIDrivers is the resource csidrivers.
func CSIDrivers() schema.GroupVersionResource {
	return storagev1.SchemeGroupVersion.WithResource("csidrivers")
}

// CSINodes is the resource csinodes.
func CSINodes() schema.GroupVersionResource {
	return storagev1.SchemeGroupVersion.WithResource("csinodes")
}

// CSIStorageCapacities is the resource csistoragecapacities.
func CSIStorageCapacities() schema.GroupVersionResource {
	return storagev1.SchemeGroupVersion.WithResource("csistoragecapacities")
}

// Leases is the resource leases.
func Leases() schema.GroupVersionResource {
	return coordinationv1.SchemeGroupVersion.WithResource("leases")
}

// VolumeAttachments is the resource volumeattachments.
func VolumeAttachments() schema.GroupVersionResource {
	return storagev1.SchemeGroupVersion.WithResource("volumeattachments")
}

// VolumeAttributesClasses is the resource volumeattributesclasses.
func VolumeAttributesClasses() schema.GroupVersionResource {
	return storagev1.SchemeGroupVersion.WithResource("volumeattributesclasses")
}
