package provisioner

import (
	"context"
	"encoding/json"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/binding"
)

// handleProtectionFinalizer puts the finalizer on bound volumes that are to be
// deleted one day, and takes it off where it has no business. It returns the
// volume as it is afterwards.
//
// Upstream: controller.go handleProtectionFinalizer, v13.
func (ctrl *ProvisionController) handleProtectionFinalizer(ctx context.Context, volume *v1.PersistentVolume) (*v1.PersistentVolume, error) {
	deletePolicy := volume.Spec.PersistentVolumeReclaimPolicy == v1.PersistentVolumeReclaimDelete
	switch {
	case !ctrl.cfg.AddFinalizer || !deletePolicy:
		return ctrl.removeFinalizer(ctx, volume)
	case volume.DeletionTimestamp == nil && volume.Status.Phase == v1.VolumeBound && !slices.Contains(volume.Finalizers, binding.PVDeletionProtectionFinalizer):
		return ctrl.patchFinalizers(ctx, volume, append(slices.Clone(volume.Finalizers), binding.PVDeletionProtectionFinalizer))
	}
	return volume, nil
}

func (ctrl *ProvisionController) removeFinalizer(ctx context.Context, volume *v1.PersistentVolume) (*v1.PersistentVolume, error) {
	if !slices.Contains(volume.Finalizers, binding.PVDeletionProtectionFinalizer) {
		return volume, nil
	}
	rest := slices.DeleteFunc(slices.Clone(volume.Finalizers), func(f string) bool { return f == binding.PVDeletionProtectionFinalizer })
	return ctrl.patchFinalizers(ctx, volume, rest)
}

// patchFinalizers replaces the list of finalizers. As upstream, the patch
// carries no version: an edit made meanwhile by others is overwritten.
//
// Upstream: controller.go patchPersistentVolumeWithFinalizers, v13.
func (ctrl *ProvisionController) patchFinalizers(ctx context.Context, volume *v1.PersistentVolume, finalizers []string) (*v1.PersistentVolume, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"finalizers": finalizers}})
	if err != nil {
		return volume, err
	}
	patched, err := ctrl.client.CoreV1().PersistentVolumes().Patch(ctx, volume.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return volume, err
	}
	return patched, nil
}
