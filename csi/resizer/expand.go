package resizer

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagesim/storagesim/control"
)

// Reasons of events.
//
// Upstream: pkg/util/events.go, v2.3.
const (
	volumeResizing           = "Resizing"
	volumeResizeFailed       = "VolumeResizeFailed"
	volumeResizeSuccess      = "VolumeResizeSuccessful"
	fileSystemResizeRequired = "FileSystemResizeRequired"
)

// expandAndRecover expands a volume, or continues an expansion.
//
// Upstream: expand_and_recover.go expandAndRecover, v2.3.
func (c *resizeController) expandAndRecover(ctx context.Context, claim *v1.PersistentVolumeClaim, pv *v1.PersistentVolume) error {
	key := control.Key(claim)
	slow := c.slow.contains(c.env, key, c.cfg.RetryIntervalMax)
	if resizeStatus(claim) == v1.PersistentVolumeClaimControllerResizeInfeasible {
		c.slow.add(c.env, key, c.cfg.RetryIntervalMax)
	}
	size, due := c.sizeToExpandTo(claim, pv)
	if !due {
		return nil
	}
	allocated, known := claim.Status.AllocatedResources[v1.ResourceStorage]
	sameAsBefore := known && allocated.Cmp(size) == 0
	if sameAsBefore && slow {
		return &control.RetryAfter{After: c.slow.timeRemaining(c.env, key, c.cfg.RetryIntervalMax),
			Err: fmt.Errorf("skipping volume expansion for pvc %s, because expansion previously failed with infeasible error", key)}
	}
	claim, err := c.markControllerResizeInProgress(ctx, claim, size, !sameAsBefore)
	if err != nil {
		return fmt.Errorf("marking pvc %q as resizing failed: %w", key, err)
	}
	if c.inUse[claim.UID] && c.isUsed(claim) {
		err := fmt.Errorf("Unable to expand %s because CSI driver %s only supports offline expansion and volume is currently in-use", key, c.cfg.Driver)
		c.recorder.Event(claim, v1.EventTypeWarning, volumeResizeFailed, err.Error())
		return err
	}
	c.recorder.Event(claim, v1.EventTypeNormal, volumeResizing, "External resizer is resizing volume "+pv.Name)
	delete(c.inUse, claim.UID)
	if err := c.callResizeOnPlugin(ctx, claim, pv, size); err != nil {
		c.recorder.Event(claim, v1.EventTypeWarning, volumeResizeFailed, err.Error())
		return err
	}
	return nil
}

// sizeToExpandTo returns the next size for the volume, and whether there is anything to do for it now. An expansion
// that may be running comes before the request of the claim.
//
// Upstream: expand_and_recover.go expandAndRecover, v2.3.
func (c *resizeController) sizeToExpandTo(claim *v1.PersistentVolumeClaim, pv *v1.PersistentVolume) (resource.Quantity, bool) {
	asked, is := requested(claim), pv.Spec.Capacity[v1.ResourceStorage]
	begun, known := claim.Status.AllocatedResources[v1.ResourceStorage]
	if !known {
		begun = asked
	}
	if is.Cmp(asked) >= 0 {
		return c.sizeOfExpanded(claim, asked, begun, known)
	}
	switch resizeStatus(claim) {
	case v1.PersistentVolumeClaimNodeResizeInfeasible:
		return begun, true
	case v1.PersistentVolumeClaimNodeResizePending, v1.PersistentVolumeClaimNodeResizeInProgress:
		return begun, is.Cmp(begun) < 0 // else the node has to finish first
	case v1.PersistentVolumeClaimControllerResizeInProgress:
		if !c.final[control.Key(claim)] {
			return begun, true
		}
	}
	return asked, true
}

// sizeOfExpanded returns the size for a volume that is as large as the request already: the claim does not have the
// size yet, the node failed, or the user requests less than before.
func (c *resizeController) sizeOfExpanded(claim *v1.PersistentVolumeClaim, asked, begun resource.Quantity, known bool) (resource.Quantity, bool) {
	switch resizeStatus(claim) {
	case v1.PersistentVolumeClaimNodeResizeInProgress, v1.PersistentVolumeClaimNodeResizePending:
		return asked, false // that is the node's work
	case v1.PersistentVolumeClaimNodeResizeInfeasible:
		if !c.expandsInController() {
			return asked, true
		}
		return begun, true
	case v1.PersistentVolumeClaimControllerResizeInProgress, v1.PersistentVolumeClaimControllerResizeInfeasible:
		return begun, true
	case "":
		if known {
			return begun, true
		}
	}
	return asked, !hasFileSystemResizePending(claim)
}

func hasFileSystemResizePending(claim *v1.PersistentVolumeClaim) bool {
	for _, condition := range claim.Status.Conditions {
		if condition.Type == v1.PersistentVolumeClaimFileSystemResizePending && condition.Status == v1.ConditionTrue {
			return true
		}
	}
	return false
}

// callResizeOnPlugin calls the driver to expand a volume, and writes the result.
//
// Upstream: expand_and_recover.go callResizeOnPlugin, v2.3.
func (c *resizeController) callResizeOnPlugin(ctx context.Context, claim *v1.PersistentVolumeClaim, pv *v1.PersistentVolume, size resource.Quantity) error {
	key := control.Key(claim)
	before := capacityOf(claim)
	got, onNode, err := c.resize(ctx, pv, size)
	if err != nil {
		if written := c.resizeFailed(ctx, claim, err); written != nil {
			return fmt.Errorf("resizing failed in controller with %w but failed to update PVC %s with: %w", err, key, written)
		}
		return fmt.Errorf("resize volume %q by resizer %q failed: %w", pv.Name, c.cfg.Driver, err)
	}
	delete(c.final, key)
	delete(c.slow, key)
	if err := c.updatePVCapacity(ctx, pv, before, got, onNode); err != nil {
		return fmt.Errorf("error updating pv %q by resizer: %w", pv.Name, err)
	}
	if onNode {
		return c.markForPendingNodeExpansion(ctx, claim)
	}
	return c.markOverallExpansionAsFinished(ctx, claim, got)
}

// resizeFailed records the kind of failure, and writes a final one to the claim.
func (c *resizeController) resizeFailed(ctx context.Context, claim *v1.PersistentVolumeClaim, failure error) error {
	key := control.Key(claim)
	if st, ok := status.FromError(failure); ok && st.Code() == codes.FailedPrecondition && c.pods != nil {
		c.inUse[claim.UID] = true
	}
	if !isFinalError(failure) {
		delete(c.slow, key)
		delete(c.final, key)
		return nil
	}
	c.final[key] = true
	infeasible := isInfeasibleError(failure)
	if !infeasible {
		delete(c.slow, key)
	}
	return c.markControllerExpansionFailed(ctx, claim, failure, infeasible)
}

// isFinalError reports whether nothing can still be running after an error.
//
// Upstream: pkg/util/util.go IsFinalError, v2.3.
func isFinalError(err error) bool {
	st, ok := status.FromError(err)
	if !ok {
		return false // the call did not begin, and an earlier one may be running
	}
	switch st.Code() {
	case codes.Canceled, codes.DeadlineExceeded, codes.Unavailable, codes.ResourceExhausted, codes.Aborted:
		return false
	}
	return true
}

// isInfeasibleError reports whether the request can never succeed.
//
// Upstream: pkg/util/util.go IsInfeasibleError, v2.3.
func isInfeasibleError(err error) bool {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.OutOfRange, codes.NotFound:
		return true
	}
	return false
}

// byClaim is the index of pods that have not ended by the claims that they name.
const byClaim = "claim"

func claimsOf(pod *v1.Pod) []string {
	if pod.Status.Phase == v1.PodFailed || pod.Status.Phase == v1.PodSucceeded {
		return nil
	}
	var keys []string
	for i := range pod.Spec.Volumes {
		if source := pod.Spec.Volumes[i].PersistentVolumeClaim; source != nil {
			keys = append(keys, pod.Namespace+"/"+source.ClaimName)
		}
	}
	return keys
}

// isUsed reports whether a pod uses the claim.
//
// Upstream: inuse_pvc_store.go checkForUse, v2.3.
func (c *resizeController) isUsed(claim *v1.PersistentVolumeClaim) bool {
	return c.pods != nil && c.pods.HasIndex(byClaim, control.Key(claim))
}
