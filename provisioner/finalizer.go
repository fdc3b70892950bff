package provisioner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/storagesim/storagesim/binding"
)

// handleProtectionFinalizer puts the finalizer on bound volumes that are to be
// deleted one day, and takes it off where it has no business. It returns the
// volume as it is afterwards.
//
// Upstream: controller.go handleProtectionFinalizer, v13.
func (ctrl *provisionController) handleProtectionFinalizer(ctx context.Context, volume *v1.PersistentVolume) (*v1.PersistentVolume, error) {
	deletePolicy := volume.Spec.PersistentVolumeReclaimPolicy == v1.PersistentVolumeReclaimDelete
	switch {
	case !ctrl.cfg.AddFinalizer || !deletePolicy:
		return ctrl.removeFinalizer(ctx, volume)
	case volume.DeletionTimestamp == nil && volume.Status.Phase == v1.VolumeBound && !slices.Contains(volume.Finalizers, binding.PVDeletionProtectionFinalizer):
		return ctrl.patchFinalizers(ctx, volume, append(slices.Clone(volume.Finalizers), binding.PVDeletionProtectionFinalizer))
	}
	return volume, nil
}

func (ctrl *provisionController) removeFinalizer(ctx context.Context, volume *v1.PersistentVolume) (*v1.PersistentVolume, error) {
	if !slices.Contains(volume.Finalizers, binding.PVDeletionProtectionFinalizer) {
		return volume, nil
	}
	rest := slices.DeleteFunc(slices.Clone(volume.Finalizers), func(f string) bool { return f == binding.PVDeletionProtectionFinalizer })
	return ctrl.patchFinalizers(ctx, volume, rest)
}

// patchFinalizers makes the list of finalizers what it is given. The patch names
// what to add and what to remove, and carries no version. As upstream, taking off
// the last one known takes off whatever others have put on meanwhile.
//
// Upstream: controller.go patchPersistentVolumeWithFinalizers, v13.
func (ctrl *provisionController) patchFinalizers(ctx context.Context, volume *v1.PersistentVolume, finalizers []string) (*v1.PersistentVolume, error) {
	before, err1 := json.Marshal(onlyFinalizers(volume.Finalizers))
	after, err2 := json.Marshal(onlyFinalizers(finalizers))
	if err := errors.Join(err1, err2); err != nil {
		return volume, err
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(before, after, volume)
	if err != nil {
		return volume, err
	}
	patched, err := ctrl.client.CoreV1().PersistentVolumes().Patch(ctx, volume.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return volume, fmt.Errorf("failed to modify finalizers to %v on volume %s: %w", finalizers, volume.Name, err)
	}
	return patched, nil
}

func onlyFinalizers(finalizers []string) *v1.PersistentVolume {
	return &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Finalizers: finalizers}}
}
