package binding

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Filter is a rule that a volume can fail.
type Filter uint8

// The filters in the order in which they are looked at, upstream's. A volume reserved
// for the claim need only pass those before Delayed, and WrongNode.
const (
	// Passed is no filter: the volume would do.
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
	// Delayed: the claim waits for its first consumer, and no node is chosen.
	Delayed
	// NotAvailable volumes are in another phase than Available.
	NotAvailable
	// WrongLabels: the claim's selector does not match.
	WrongLabels
	// WrongClass volumes are of another storage class.
	WrongClass
	// WrongNode volumes cannot be reached from the node.
	WrongNode
	// WrongAccessModes volumes lack a mode that the claim requests.
	WrongAccessModes
	// Blocked: a volume reserved for the claim cannot be reached from the node, so no
	// other is considered.
	Blocked
	// Outranked volumes would do, but another is better.
	Outranked
)

// wanted is what a claim asks for, read once.
type wanted struct {
	claim           *v1.PersistentVolumeClaim
	request         resource.Quantity
	class           string
	mode            v1.PersistentVolumeMode
	attributesClass string
	selector        labels.Selector // nil matches everything
	// modes are the access modes requested, knownModes that these are all.
	modes      modeSet
	knownModes bool
}

// wantedBy reads the claim. An invalid label selector is an error.
func wantedBy(claim *v1.PersistentVolumeClaim) (wanted, error) {
	w := wanted{
		claim:           claim,
		request:         claim.Spec.Resources.Requests[v1.ResourceStorage],
		class:           GetPersistentVolumeClaimClass(claim),
		mode:            volumeMode(claim.Spec.VolumeMode),
		attributesClass: deref(claim.Spec.VolumeAttributesClassName),
	}
	w.modes, w.knownModes = modesOf(claim.Spec.AccessModes)
	if claim.Spec.Selector == nil {
		return w, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(claim.Spec.Selector)
	if err != nil {
		return w, fmt.Errorf("claim %s/%s: spec.selector: %w", claim.Namespace, claim.Name, err)
	}
	w.selector = selector
	return w, nil
}

// unfit is the filter that even a volume reserved for the claim fails.
func (w *wanted) unfit(volume *v1.PersistentVolume) Filter {
	if volume.Spec.ClaimRef != nil && !IsVolumeBoundToClaim(volume, w.claim) {
		return Claimed
	}
	if capacity := capacityOf(volume); compareSizes(&capacity, &w.request) < 0 {
		return TooSmall
	}
	return w.different(volume)
}

// different is the rest of unfit, after claimRef and size.
func (w *wanted) different(volume *v1.PersistentVolume) Filter {
	switch {
	case volumeMode(volume.Spec.VolumeMode) != w.mode:
		return WrongMode
	case deref(volume.Spec.VolumeAttributesClassName) != w.attributesClass:
		return WrongAttributesClass
	case volume.DeletionTimestamp != nil:
		return Deleting
	}
	return Passed
}

// unsuitable is the filter that an unreserved volume fails which is not unfit.
// Access modes and node affinity count only if there is a node; without one the
// caller has already grouped volumes by their modes.
func (w *wanted) unsuitable(volume *v1.PersistentVolume, node *v1.Node) Filter {
	switch {
	case volume.Status.Phase != v1.VolumeAvailable:
		return NotAvailable
	case w.selector != nil && !w.selector.Matches(labels.Set(volume.Labels)):
		return WrongLabels
	case GetPersistentVolumeClass(volume) != w.class:
		return WrongClass
	case !reachable(volume, node):
		return WrongNode
	case node != nil && !CheckAccessModes(w.claim, volume):
		return WrongAccessModes
	}
	return Passed
}

// CheckVolumeModeMismatches says whether claim and volume differ in volumeMode; nil
// is Filesystem.
// Upstream: component-helpers storage/volume/pv_helpers.go, v1.36.
func CheckVolumeModeMismatches(claim *v1.PersistentVolumeClaimSpec, volume *v1.PersistentVolumeSpec) bool {
	return volumeMode(claim.VolumeMode) != volumeMode(volume.VolumeMode)
}

// CheckAccessModes says whether the volume offers all modes that the claim requests.
// Upstream: component-helpers storage/volume/pv_helpers.go, v1.36.
func CheckAccessModes(claim *v1.PersistentVolumeClaim, volume *v1.PersistentVolume) bool {
	_, missing := MissingAccessMode(claim, volume)
	return !missing
}

// MissingAccessMode is the first mode that the claim requests and the volume does
// not offer, and whether there is one.
func MissingAccessMode(claim *v1.PersistentVolumeClaim, volume *v1.PersistentVolume) (v1.PersistentVolumeAccessMode, bool) {
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
