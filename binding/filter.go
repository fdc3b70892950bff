package binding

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Filter is a rule that a volume can fail.
type Filter uint8

// The filters in the order in which they are looked at.
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
	// WrongAccessModes volumes lack a mode that the claim requests.
	WrongAccessModes
	// WrongNode volumes cannot be reached from the node.
	WrongNode
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

// unfit is the filter that even a volume reserved for the claim fails. capacity is
// the volume's.
func (w *wanted) unfit(volume *v1.PersistentVolume, capacity resource.Quantity) Filter {
	switch {
	case volume.Spec.ClaimRef != nil && !IsVolumeBoundToClaim(volume, w.claim):
		return Claimed
	case capacity.Cmp(w.request) < 0:
		return TooSmall
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
	case node == nil:
		return Passed
	case !CheckAccessModes(w.claim, volume):
		return WrongAccessModes
	case !reachable(volume, node):
		return WrongNode
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

// CheckVolumeSatisfyClaim says why the volume that a claim names in volumeName does
// not do for it, nil if it does. Unlike FindMatchingVolume it compares sizes in whole
// bytes and does not look at phase or labels.
// Upstream: pv_controller.go checkVolumeSatisfyClaim, v1.36.
func CheckVolumeSatisfyClaim(volume *v1.PersistentVolume, claim *v1.PersistentVolumeClaim) error {
	if volume.DeletionTimestamp != nil {
		return fmt.Errorf("the volume is marked for deletion %q", volume.Name)
	}
	capacity, request := volume.Spec.Capacity[v1.ResourceStorage], claim.Spec.Resources.Requests[v1.ResourceStorage]
	switch {
	case capacity.Value() < request.Value():
		return errors.New("requested PV is too small")
	case GetPersistentVolumeClass(volume) != GetPersistentVolumeClaimClass(claim):
		return errors.New("storageClassName does not match")
	case deref(volume.Spec.VolumeAttributesClassName) != deref(claim.Spec.VolumeAttributesClassName):
		return errors.New("volumeAttributesClassName does not match")
	case CheckVolumeModeMismatches(&claim.Spec, &volume.Spec):
		return errors.New("incompatible volumeMode")
	case !CheckAccessModes(claim, volume):
		return errors.New("incompatible accessMode")
	}
	return nil
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
