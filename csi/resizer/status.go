package resizer

import (
	"context"
	"fmt"
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/volume"
)

// markControllerResizeInProgress writes the size of an expansion that begins. If it was in progress before, the
// conditions stay.
//
// Upstream: resize_status.go markControllerResizeInProgress, v2.3.
func (c *resizeController) markControllerResizeInProgress(ctx context.Context, claim *v1.PersistentVolumeClaim, size resource.Quantity,
	updateStatus bool) (*v1.PersistentVolumeClaim, error) {
	return c.patchClaim(ctx, claim, true, func(claim *v1.PersistentVolumeClaim) {
		c.mergeCondition(claim, v1.PersistentVolumeClaimResizing, "", !updateStatus)
		delete(claim.Annotations, volume.NodeExpansionNotRequired)
		if updateStatus {
			volume.SetResizeStatus(claim, v1.PersistentVolumeClaimControllerResizeInProgress)
		}
		allocated := maps.Clone(claim.Status.AllocatedResources)
		if allocated == nil {
			allocated = v1.ResourceList{}
		}
		allocated[v1.ResourceStorage] = size
		claim.Status.AllocatedResources = allocated
	})
}

// markForPendingNodeExpansion writes that a node has to do the rest.
//
// Upstream: resize_status.go markForPendingNodeExpansion, v2.3.
func (c *resizeController) markForPendingNodeExpansion(ctx context.Context, claim *v1.PersistentVolumeClaim) error {
	claim, err := c.patchClaim(ctx, claim, true, func(claim *v1.PersistentVolumeClaim) {
		c.mergeCondition(claim, v1.PersistentVolumeClaimFileSystemResizePending,
			"Waiting for user to (re-)start a pod to finish file system resize of volume on node.", true)
		delete(claim.Annotations, volume.NodeExpansionNotRequired)
		volume.SetResizeStatus(claim, v1.PersistentVolumeClaimNodeResizePending)
	})
	if err != nil {
		return fmt.Errorf("mark PVC %q as node expansion required failed: %w", control.Key(claim), err)
	}
	c.recorder.Event(claim, v1.EventTypeNormal, fileSystemResizeRequired, "Require file system resize of volume on node")
	return nil
}

// markOverallExpansionAsFinished writes that the claim has the new size, and that nodes have nothing left to do.
//
// Upstream: resize_status.go markOverallExpansionAsFinished, v2.3.
func (c *resizeController) markOverallExpansionAsFinished(ctx context.Context, claim *v1.PersistentVolumeClaim, size resource.Quantity) error {
	claim, err := c.patchClaim(ctx, claim, true, func(claim *v1.PersistentVolumeClaim) {
		volume.SetClaimSize(claim, size)
		claim.Status.Conditions = volume.MergeResizeConditions(claim.Status.Conditions, nil, false)
		volume.SetResizeStatus(claim, "")
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, volume.NodeExpansionNotRequired, "true")
	})
	if err != nil {
		return fmt.Errorf("mark PVC %q as resize finished failed: %w", control.Key(claim), err)
	}
	c.recorder.Event(claim, v1.EventTypeNormal, volumeResizeSuccess, "Resize volume succeeded")
	return nil
}

// markControllerExpansionFailed writes a condition with the error, also if the claim has changed meanwhile.
//
// Upstream: resize_status.go markControllerExpansionInfeasible and
// markControllerExpansionFailedCondition, v2.3.
func (c *resizeController) markControllerExpansionFailed(ctx context.Context, claim *v1.PersistentVolumeClaim, failure error, infeasible bool) error {
	_, err := c.patchClaim(ctx, claim, false, func(claim *v1.PersistentVolumeClaim) {
		if infeasible {
			volume.SetResizeStatus(claim, v1.PersistentVolumeClaimControllerResizeInfeasible)
		}
		c.mergeCondition(claim, v1.PersistentVolumeClaimControllerResizeError, fmt.Sprintf("failed to expand pvc with %v", failure), true)
	})
	return err
}

func (c *resizeController) mergeCondition(claim *v1.PersistentVolumeClaim, kind v1.PersistentVolumeClaimConditionType, message string, keepOld bool) {
	condition := v1.PersistentVolumeClaimCondition{
		Type: kind, Status: v1.ConditionTrue, LastTransitionTime: metav1.NewTime(c.env.Now()), Message: message,
	}
	claim.Status.Conditions = volume.MergeResizeConditions(claim.Status.Conditions, []v1.PersistentVolumeClaimCondition{condition}, keepOld)
}

func (c *resizeController) patchClaim(ctx context.Context, claim *v1.PersistentVolumeClaim, sameVersion bool,
	change func(*v1.PersistentVolumeClaim)) (*v1.PersistentVolumeClaim, error) {
	changed := claim.DeepCopy()
	change(changed)
	patched, err := volume.PatchClaimStatus(ctx, c.client, claim, changed, sameVersion)
	if err != nil {
		return claim, fmt.Errorf("can't patch status of  PVC %s with %w", control.Key(claim), err)
	}
	c.ownClaims[control.Key(claim)] = patched
	return patched, nil
}

// updatePVCapacity writes the new size to the volume. before is the claim's old size, which is kept in an annotation
// until a node has done its part.
//
// Upstream: controller.go updatePVCapacity, v2.3.
func (c *resizeController) updatePVCapacity(ctx context.Context, pv *v1.PersistentVolume, before, size resource.Quantity, onNode bool) error {
	changed := pv.DeepCopy()
	changed.Spec.Capacity[v1.ResourceStorage] = size
	if onNode && !metav1.HasAnnotation(pv.ObjectMeta, binding.AnnPreResizeCapacity) {
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, binding.AnnPreResizeCapacity, before.String())
	}
	if err := c.patchVolume(ctx, pv, changed); err != nil {
		return fmt.Errorf("updating capacity of PV %q to %s failed: %w", pv.Name, size.String(), err)
	}
	return nil
}

// Upstream: controller.go deletePreResizeCapAnnotation, v2.3.
func (c *resizeController) deletePreResizeCapAnnotation(ctx context.Context, pv *v1.PersistentVolume) error {
	changed := pv.DeepCopy()
	delete(changed.Annotations, binding.AnnPreResizeCapacity)
	return c.patchVolume(ctx, pv, changed)
}

func (c *resizeController) patchVolume(ctx context.Context, pv, changed *v1.PersistentVolume) error {
	patched, err := volume.PatchVolume(ctx, c.client, pv, changed)
	if err != nil {
		return fmt.Errorf("update capacity of PV %s failed: %w", pv.Name, err)
	}
	c.ownVolumes[pv.Name] = patched
	return nil
}
