package binding

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// MismatchError reports why a volume does not satisfy the claim that names it. Its text is
// upstream's, which events quote; the fields hold the details.
type MismatchError struct {
	// Volume is the volume's name.
	Volume string
	// Field is the path of the field that differs. It is the same in both objects; only
	// the volume has "metadata.deletionTimestamp".
	Field string
	// Has holds the volume's value, Wants the claim's; Wants is "" for
	// metadata.deletionTimestamp.
	Has, Wants string

	text string
}

func (e *MismatchError) Error() string { return e.text }

// CheckVolumeSatisfyClaim returns an error if the volume that a claim names in volumeName
// does not satisfy it: a *MismatchError. Unlike FindMatchingVolume it compares sizes in
// whole bytes and does not look at phase or labels.
// Upstream: pv_controller.go checkVolumeSatisfyClaim, v1.37.
func CheckVolumeSatisfyClaim(volume *v1.PersistentVolume, claim *v1.PersistentVolumeClaim) error {
	mismatch := func(field, has, wants, text string) error {
		return &MismatchError{Volume: volume.Name, Field: field, Has: has, Wants: wants, text: text}
	}
	if volume.DeletionTimestamp != nil {
		return mismatch("metadata.deletionTimestamp", volume.DeletionTimestamp.String(), "", fmt.Sprintf("the volume is marked for deletion %q", volume.Name))
	}
	capacity, request := capacityOf(volume), claim.Spec.Resources.Requests[v1.ResourceStorage]
	if capacity.Value() < request.Value() {
		return mismatch("storage", capacity.String(), request.String(), "requested PV is too small")
	}
	if has, wants := GetPersistentVolumeClass(volume), GetPersistentVolumeClaimClass(claim); has != wants {
		return mismatch("spec.storageClassName", has, wants, "storageClassName does not match")
	}
	if has, wants := deref(volume.Spec.VolumeAttributesClassName), deref(claim.Spec.VolumeAttributesClassName); has != wants {
		return mismatch("spec.volumeAttributesClassName", has, wants, "volumeAttributesClassName does not match")
	}
	if has, wants := volumeMode(volume.Spec.VolumeMode), volumeMode(claim.Spec.VolumeMode); has != wants {
		return mismatch("spec.volumeMode", string(has), string(wants), "incompatible volumeMode")
	}
	if missing, found := missingAccessMode(claim, volume); found {
		return mismatch("spec.accessModes", accessModes(volume.Spec.AccessModes), string(missing), "incompatible accessMode")
	}
	return nil
}

func accessModes(modes []v1.PersistentVolumeAccessMode) string {
	words := make([]string, len(modes))
	for i, mode := range modes {
		words[i] = string(mode)
	}
	return strings.Join(words, ",")
}
