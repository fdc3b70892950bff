package binding

import (
	"fmt"
	"maps"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GetPersistentVolumeClaimClass returns the name of the claim's class: the older
// annotation where present, else the field; "" if the claim has none.
// Upstream: component-helpers storage/volume/helpers.go, v1.37.
func GetPersistentVolumeClaimClass(claim *v1.PersistentVolumeClaim) string {
	if class, found := claim.Annotations[AnnStorageClass]; found {
		return class
	}
	if claim.Spec.StorageClassName != nil {
		return *claim.Spec.StorageClassName
	}
	return ""
}

// PersistentVolumeClaimHasClass reports whether the claim sets a class. An explicit ""
// counts: it asks for volumes without a class.
// Upstream: component-helpers storage/volume/helpers.go, v1.37.
func PersistentVolumeClaimHasClass(claim *v1.PersistentVolumeClaim) bool {
	_, found := claim.Annotations[AnnStorageClass]
	return found || claim.Spec.StorageClassName != nil
}

// GetPersistentVolumeClass returns the name of the volume's class, "" if it has none.
// Upstream: component-helpers storage/volume/helpers.go, v1.37.
func GetPersistentVolumeClass(volume *v1.PersistentVolume) string {
	if class, found := volume.Annotations[AnnStorageClass]; found {
		return class
	}
	return volume.Spec.StorageClassName
}

// IsDelayBindingProvisioning reports whether the scheduler has chosen a node for the
// claim. From then on the PV controller and the provisioners may provision a volume.
// Upstream: component-helpers storage/volume/pv_helpers.go, v1.37.
func IsDelayBindingProvisioning(claim *v1.PersistentVolumeClaim) bool {
	_, found := claim.Annotations[AnnSelectedNode]
	return found
}

// IsDelayBindingMode reports whether the claim's class waits for the first consumer.
// A claim does not wait if it has no class or getClass does not find it. A class without
// a binding mode is an error.
// Upstream: component-helpers storage/volume/pv_helpers.go, v1.37.
func IsDelayBindingMode(claim *v1.PersistentVolumeClaim, getClass func(name string) (*storagev1.StorageClass, bool)) (bool, error) {
	name := GetPersistentVolumeClaimClass(claim)
	class, found := getClass(name)
	if !found {
		return false, nil
	}
	if class.VolumeBindingMode == nil {
		return false, fmt.Errorf("VolumeBindingMode not set for StorageClass %q", name)
	}
	return *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer, nil
}

// ClaimKeysOfPod returns the keys (namespace/name) of the claims that the pod names,
// including those of its ephemeral volumes.
// Upstream: pkg/controller/volume/common PodPVCIndexFunc, v1.37.
func ClaimKeysOfPod(pod *v1.Pod) []string {
	var keys []string
	for i := range pod.Spec.Volumes {
		if name := ClaimOfVolume(pod, &pod.Spec.Volumes[i]); name != "" {
			keys = append(keys, pod.Namespace+"/"+name)
		}
	}
	return keys
}

// ClaimOfVolume returns the name of the claim of a pod's volume: the one it names, or the
// one that is made for an ephemeral volume; "" for volumes of other types.
// Upstream: component-helpers storage/ephemeral VolumeClaimName, v1.37.
func ClaimOfVolume(pod *v1.Pod, volume *v1.Volume) string {
	switch {
	case volume.PersistentVolumeClaim != nil:
		return volume.PersistentVolumeClaim.ClaimName
	case volume.Ephemeral != nil:
		return pod.Name + "-" + volume.Name
	}
	return ""
}

// IsVolumeBoundToClaim reports whether the volume's claimRef names the claim: same
// namespace and name, and the same UID unless claimRef has none (the user reserved the
// volume).
// Upstream: component-helpers storage/volume/pv_helpers.go, v1.37.
func IsVolumeBoundToClaim(volume *v1.PersistentVolume, claim *v1.PersistentVolumeClaim) bool {
	ref := volume.Spec.ClaimRef
	return ref != nil && ref.Name == claim.Name && ref.Namespace == claim.Namespace &&
		(ref.UID == "" || ref.UID == claim.UID)
}

// GetBindVolumeToClaim returns the volume as it is to be written to bind it to the claim,
// and whether that differs from volume. The volume is marked as bound by a controller
// unless its claimRef already named the claim. If nothing differs, bound is volume itself;
// otherwise it shares with volume what binding does not change. Do not modify either.
// Upstream: component-helpers storage/volume/pv_helpers.go, v1.37.
func GetBindVolumeToClaim(volume *v1.PersistentVolume, claim *v1.PersistentVolumeClaim) (bound *v1.PersistentVolume, dirty bool, err error) {
	ref := volume.Spec.ClaimRef
	named := ref != nil && ref.Name == claim.Name && ref.Namespace == claim.Namespace && ref.UID == claim.UID
	_, marked := volume.Annotations[AnnBoundByController]
	if named {
		return volume, false, nil
	}
	bound = new(*volume)
	bound.Spec.ClaimRef = &v1.ObjectReference{
		Kind: "PersistentVolumeClaim", APIVersion: "v1",
		Namespace: claim.Namespace, Name: claim.Name,
		UID: claim.UID, ResourceVersion: claim.ResourceVersion,
	}
	if !marked && !IsVolumeBoundToClaim(volume, claim) {
		bound.Annotations = maps.Clone(volume.Annotations)
		metav1.SetMetaDataAnnotation(&bound.ObjectMeta, AnnBoundByController, yes)
	}
	return bound, true, nil
}
