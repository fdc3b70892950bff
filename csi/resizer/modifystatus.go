package resizer

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/volume"
)

// markModifyStatus writes the progress of a change. A pending change has no conditions.
//
// Upstream: modify_status.go markControllerModifyVolumeStatus, v2.3.
func (c *modifyController) markModifyStatus(ctx context.Context, claim *v1.PersistentVolumeClaim, is v1.PersistentVolumeClaimModifyVolumeStatus,
	failure error) (*v1.PersistentVolumeClaim, error) {
	changed := claim.DeepCopy()
	if changed.Status.ModifyVolumeStatus == nil {
		changed.Status.ModifyVolumeStatus = &v1.ModifyVolumeStatus{}
	}
	last := changed.Status.ModifyVolumeStatus
	last.Status = is
	if is != v1.PersistentVolumeClaimModifyVolumePending {
		if failure == nil {
			last.TargetVolumeAttributesClassName = deref(claim.Spec.VolumeAttributesClassName)
		}
		changed.Status.Conditions = mergeConditions(changed.Status.Conditions, c.modifyConditions(last.TargetVolumeAttributesClassName, failure))
	}
	patched, err := volume.PatchClaimStatus(ctx, c.client, claim, changed, true)
	if err != nil {
		return claim, fmt.Errorf("mark PVC %q as modify volume failed, errored with: %w", claim.Name, err)
	}
	return patched, nil
}

// modifyConditions returns the conditions of a change that runs, or has failed.
func (c *modifyController) modifyConditions(target string, failure error) []v1.PersistentVolumeClaimCondition {
	now := metav1.NewTime(c.env.Now())
	modifying := v1.PersistentVolumeClaimCondition{Type: v1.PersistentVolumeClaimVolumeModifyingVolume, Status: v1.ConditionTrue, LastProbeTime: now}
	if failure == nil {
		modifying.Message = fmt.Sprintf("Modifying volume to %q is in progress.", target)
		return []v1.PersistentVolumeClaimCondition{modifying}
	}
	modifying.Message = fmt.Sprintf("Modifying volume to %q is still in progress.", target)
	if isFinalError(failure) {
		modifying.Message = fmt.Sprintf("Modifying volume to %q failed. Waiting for retry.", target)
	}
	answer, _ := status.FromError(failure)
	return []v1.PersistentVolumeClaimCondition{modifying, {
		Type: v1.PersistentVolumeClaimVolumeModifyVolumeError, Status: v1.ConditionTrue,
		Reason: answer.Code().String(), Message: answer.Message(), LastProbeTime: now,
	}}
}

// mergeConditions replaces conditions by new ones of the same types, and puts the others last. The time of the
// transition stays as long as reason and status stay.
//
// Upstream: pkg/util/util.go MergePVCConditions, v2.3.
func mergeConditions(old, added []v1.PersistentVolumeClaimCondition) []v1.PersistentVolumeClaimCondition {
	merged := slices.Clone(old)
	for _, is := range added {
		is.LastTransitionTime = is.LastProbeTime
		at := slices.IndexFunc(merged, func(c v1.PersistentVolumeClaimCondition) bool { return c.Type == is.Type })
		if at < 0 {
			merged = append(merged, is)
			continue
		}
		if was := merged[at]; was.Reason == is.Reason && was.Status == is.Status {
			is.LastTransitionTime = was.LastTransitionTime
		}
		merged[at] = is
	}
	return merged
}

// markModifyCompleted writes the volume's new class: first to the volume, then to the claim.
//
// Upstream: modify_status.go markControllerModifyVolumeCompleted, v2.3.
func (c *modifyController) markModifyCompleted(ctx context.Context, claim *v1.PersistentVolumeClaim, pv *v1.PersistentVolume) error {
	target := claim.Status.ModifyVolumeStatus.TargetVolumeAttributesClassName
	has := pv.DeepCopy()
	has.Spec.VolumeAttributesClassName = &target
	if _, err := volume.PatchVolume(ctx, c.client, pv, has); err != nil {
		return fmt.Errorf("update pv.Spec.VolumeAttributesClassName for PVC %q failed, errored with: %w", claim.Name, err)
	}
	changed := claim.DeepCopy()
	changed.Status.ModifyVolumeStatus, changed.Status.CurrentVolumeAttributesClassName = nil, &target
	changed.Status.Conditions = slices.DeleteFunc(changed.Status.Conditions, func(c v1.PersistentVolumeClaimCondition) bool {
		return c.Type == v1.PersistentVolumeClaimVolumeModifyVolumeError || c.Type == v1.PersistentVolumeClaimVolumeModifyingVolume
	})
	if _, err := volume.PatchClaimStatus(ctx, c.client, claim, changed, false); err != nil {
		return fmt.Errorf("mark PVC %q as ModifyVolumeCompleted failed, errored with: %w", claim.Name, err)
	}
	return nil
}

// rolledBack ends a change of a claim that requests no class any more.
//
// Upstream: modify_volume.go rolledBack, and modify_status.go markRolledBack, v2.3.
func (c *modifyController) rolledBack(ctx context.Context, claim *v1.PersistentVolumeClaim) error {
	isModifying := func(c v1.PersistentVolumeClaimCondition) bool {
		return c.Type == v1.PersistentVolumeClaimVolumeModifyingVolume
	}
	if !slices.ContainsFunc(claim.Status.Conditions, isModifying) {
		return nil
	}
	c.recorder.Event(claim, v1.EventTypeNormal, volumeModifyCancelled, "Cancelled modify.")
	changed := claim.DeepCopy()
	changed.Status.Conditions = slices.DeleteFunc(changed.Status.Conditions, isModifying)
	if _, err := volume.PatchClaimStatus(ctx, c.client, claim, changed, false); err != nil {
		return fmt.Errorf("mark PVC %q as rolled back failed: %w", claim.Name, err)
	}
	return nil
}
