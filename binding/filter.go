package binding

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Filter is a rule that a volume can fail.
type Filter uint8

// The filters in the order in which they are applied, which is upstream's (see
// query.filter). Blocked and Outranked are verdicts of Explain on volumes that pass all
// filters.
const (
	// Passed: the volume fails no filter.
	Passed Filter = iota
	// Excluded volumes are promised to another claim of the same pod.
	Excluded
	// Claimed volumes are bound to, or reserved for, another claim.
	Claimed
	// TooSmall volumes have less capacity than the claim requests.
	TooSmall
	// WrongMode volumes differ in volumeMode.
	WrongMode
	// WrongAttributesClass volumes differ in volumeAttributesClassName.
	WrongAttributesClass
	// Deleting volumes have a deletionTimestamp.
	Deleting
	// Delayed: the claim waits for its first consumer, and no node was given.
	Delayed
	// NotAvailable volumes are in another phase than Available.
	NotAvailable
	// WrongLabels volumes do not match the claim's selector.
	WrongLabels
	// WrongClass volumes are of another storage class.
	WrongClass
	// WrongNode volumes are not reachable from the node.
	WrongNode
	// WrongAccessModes volumes lack a mode that the claim requests.
	WrongAccessModes
	// Blocked: the node cannot reach a volume reserved for the claim, so no other is
	// considered.
	Blocked
	// Outranked volumes fit, but another one wins.
	Outranked
)

// String returns the filter's name, "TooSmall".
func (f Filter) String() string {
	names := [...]string{
		"Passed", "Excluded", "Claimed", "TooSmall", "WrongMode", "WrongAttributesClass", "Deleting", "Delayed", "NotAvailable", "WrongLabels", "WrongClass",
		"WrongNode", "WrongAccessModes", "Blocked", "Outranked",
	}
	if int(f) < len(names) {
		return names[f]
	}
	return "unknown"
}

// Field returns the field of a volume that the filter looks at, "" for those that look at more than the volume.
func (f Filter) Field() string {
	switch f {
	case Claimed:
		return "spec.claimRef"
	case TooSmall:
		return "spec.capacity.storage"
	case WrongMode:
		return "spec.volumeMode"
	case WrongAttributesClass:
		return "spec.volumeAttributesClassName"
	case Deleting:
		return "metadata.deletionTimestamp"
	case NotAvailable:
		return "status.phase"
	case WrongLabels:
		return "metadata.labels"
	case WrongClass:
		return "spec.storageClassName"
	case WrongNode:
		return "spec.nodeAffinity"
	case WrongAccessModes:
		return "spec.accessModes"
	}
	return ""
}

// CheckVolumeModeMismatches reports whether claim and volume differ in volumeMode; nil
// is Filesystem.
// Upstream: component-helpers storage/volume/pv_helpers.go, v1.37.
func CheckVolumeModeMismatches(claim *v1.PersistentVolumeClaimSpec, volume *v1.PersistentVolumeSpec) bool {
	return volumeMode(claim.VolumeMode) != volumeMode(volume.VolumeMode)
}

// CheckAccessModes reports whether the volume offers all modes that the claim requests.
// Upstream: component-helpers storage/volume/pv_helpers.go, v1.37.
func CheckAccessModes(claim *v1.PersistentVolumeClaim, volume *v1.PersistentVolume) bool {
	_, missing := missingAccessMode(claim, volume)
	return !missing
}

// missingAccessMode returns the first mode that the claim requests and the volume does
// not offer, and whether there is one.
func missingAccessMode(claim *v1.PersistentVolumeClaim, volume *v1.PersistentVolume) (v1.PersistentVolumeAccessMode, bool) {
requested:
	for _, mode := range claim.Spec.AccessModes {
		for _, offered := range volume.Spec.AccessModes {
			if mode == offered {
				continue requested
			}
		}
		return mode, true
	}
	return "", false
}

func capacityOf(volume *v1.PersistentVolume) resource.Quantity {
	return volume.Spec.Capacity[v1.ResourceStorage]
}

func volumeMode(mode *v1.PersistentVolumeMode) v1.PersistentVolumeMode {
	if mode == nil {
		return v1.PersistentVolumeFilesystem
	}
	return *mode
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
