package volumemanager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/volume"
)

// nodeExpander expands one volume once.
//
// Upstream: node_expander.go NodeExpander, v1.37.
type nodeExpander struct {
	*given
	sizes *volumeSizes

	volume  *volumeToMount
	claim   *v1.PersistentVolumeClaim
	options volume.NodeResizeOptions
	// status is the state of the expansion in the claim's status.
	status v1.ClaimResourceStatus
	// infeasible: a failure ends this expansion, since the user has asked for another size
	// meanwhile. The controller goes on with that.
	infeasible bool
	// updated: the claim has the new size already.
	updated bool
}

// runPreCheck reports whether the volume may be expanded on this node now. A volume that
// several nodes can write to is expanded on each of them, also after the first one has updated
// the claim.
//
// Upstream: node_expander.go runPreCheck, v1.37.
func (e *nodeExpander) runPreCheck() bool {
	requested, capacity := e.claim.Spec.Resources.Requests[v1.ResourceStorage], e.claim.Status.Capacity[v1.ResourceStorage]
	e.infeasible = requested.Cmp(e.options.NewSize) != 0 && e.sizes.failed[e.volume.volume]
	e.updated = capacity.Cmp(e.options.NewSize) >= 0 && e.status == ""
	if e.updated && slices.Contains(e.claim.Spec.AccessModes, v1.ReadWriteMany) && !metav1.HasAnnotation(e.claim.ObjectMeta, volume.NodeExpansionNotRequired) {
		return true
	}
	return e.status == v1.PersistentVolumeClaimNodeResizePending || e.status == v1.PersistentVolumeClaimNodeResizeInProgress
}

// expandOnPlugin expands the volume and writes the progress to the claim.
//
// Upstream: node_expander.go expandOnPlugin, v1.37.
func (e *nodeExpander) expandOnPlugin(ctx context.Context) (resource.Quantity, error) {
	switch {
	case e.runPreCheck():
	case e.updated:
		return e.options.NewSize, nil // the controller did all of it
	default:
		return e.options.OldSize, nil
	}
	if !e.updated {
		if err := e.patch(ctx, true, func(claim *v1.PersistentVolumeClaim) {
			volume.SetResizeStatus(claim, v1.PersistentVolumeClaimNodeResizeInProgress)
		}); err != nil {
			return e.options.OldSize, err
		}
	}
	if _, err := expander(e.volume).NodeExpand(ctx, e.options); err != nil {
		return e.failed(ctx, err)
	}
	e.succeeded()
	if e.updated {
		return e.options.NewSize, nil
	}
	if err := e.finish(ctx); err != nil {
		return e.options.NewSize, fmt.Errorf("mountVolume.NodeExpandVolume update pvc status failed: %w", err)
	}
	return e.options.NewSize, nil
}

// failed writes a final failure to the claim.
func (e *nodeExpander) failed(ctx context.Context, failure error) (resource.Quantity, error) {
	name := e.volume.volume
	if _, ok := errors.AsType[*volume.NotSupportedError](failure); ok && e.updated {
		return e.options.NewSize, nil
	}
	if volume.IsFinal(failure) {
		e.sizes.failed[name] = true
		e.markFailed(ctx, failure)
	}
	if _, ok := errors.AsType[*volume.InUseError](failure); ok {
		e.sizes.inUse[name] = true
		return e.options.OldSize, nil
	}
	return e.options.OldSize, failure
}

// markFailed writes a condition about the failure, unless one tells of an earlier failure. If that write fails, the trace says so.
//
// Upstream: resize_util.go MarkNodeExpansionInfeasible, MarkNodeExpansionFailedCondition and MergeResizeConditionOnPVC, v1.37.2.
func (e *nodeExpander) markFailed(ctx context.Context, failure error) {
	_, never := errors.AsType[*volume.InfeasibleError](failure)
	err := e.patch(ctx, false, func(claim *v1.PersistentVolumeClaim) {
		if never || e.infeasible {
			volume.SetResizeStatus(claim, v1.PersistentVolumeClaimNodeResizeInfeasible)
		}
		fails := v1.PersistentVolumeClaimCondition{
			Type: v1.PersistentVolumeClaimNodeResizeError, Status: v1.ConditionTrue, LastTransitionTime: metav1.NewTime(e.env.Now().Truncate(time.Second)),
			Message: fmt.Sprintf("failed to expand pvc with %v", failure),
		}
		if !slices.ContainsFunc(claim.Status.Conditions, func(c v1.PersistentVolumeClaimCondition) bool {
			return c.Type == fails.Type && c.Status == fails.Status
		}) {
			claim.Status.Conditions = volume.MergeResizeConditions(claim.Status.Conditions, []v1.PersistentVolumeClaimCondition{fails}, true)
		}
	})
	if err != nil {
		e.note(e.volume.ref(), fmt.Sprintf("MountVolume.NodeExpandVolume failed to mark node expansion as failed: %v", err))
	}
}

// succeeded tells the pod and the claim.
func (e *nodeExpander) succeeded() {
	message := fmt.Sprintf("MountVolume.NodeExpandVolume succeeded for volume %q %s", e.volume.spec.Name(), e.node.Name)
	e.recorder.Event(e.volume.about, v1.EventTypeNormal, fileSystemResizeSuccess, message)
	e.recorder.Event(e.claim, v1.EventTypeNormal, fileSystemResizeSuccess, message)
}

// finish writes the new size to the claim.
//
// Upstream: resize_util.go MarkNodeExpansionFinishedWithRecovery, v1.37.
func (e *nodeExpander) finish(ctx context.Context) error {
	return e.patch(ctx, true, func(claim *v1.PersistentVolumeClaim) {
		volume.SetClaimSize(claim, e.options.NewSize)
		volume.SetResizeStatus(claim, "")
		claim.Status.Conditions = volume.MergeResizeConditions(claim.Status.Conditions, nil, false)
	})
}

// patch patches the claim's status with the change.
//
// Upstream: resize_util.go PatchPVCStatus, v1.37.2.
func (e *nodeExpander) patch(ctx context.Context, sameVersion bool, change func(*v1.PersistentVolumeClaim)) error {
	claim := e.claim.DeepCopy()
	change(claim)
	patched, err := volume.PatchClaimStatus(ctx, e.env.Client(), e.claim, claim, sameVersion)
	e.claim = patched
	if err != nil {
		return fmt.Errorf("patchPVCStatus failed to patch PVC %q: %w", e.claim.Name, err)
	}
	return nil
}

// expandForOlderResizer expands a volume whose resizer does not write the progress to the claim.
//
// Upstream: operation_generator.go legacyCallNodeExpandOnPlugin, v1.37.
func (e *nodeExpander) expandForOlderResizer(ctx context.Context) (resource.Quantity, error) {
	if _, err := expander(e.volume).NodeExpand(ctx, e.options); err != nil {
		_, inUse := errors.AsType[*volume.InUseError](err)
		if _, not := errors.AsType[*volume.NotSupportedError](err); !inUse && !not {
			return e.options.NewSize, err
		}
		e.sizes.inUse[e.volume.volume] = inUse
		return e.options.NewSize, nil
	}
	e.succeeded()
	if capacity := e.claim.Status.Capacity[v1.ResourceStorage]; capacity.Cmp(e.options.NewSize) >= 0 {
		return e.options.NewSize, nil
	}
	if err := e.finish(ctx); err != nil {
		return e.options.NewSize, fmt.Errorf("mountVolume.NodeExpandVolume update PVC status failed : %w", err)
	}
	return e.options.NewSize, nil
}
