package provisioner

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/trace"
)

// syncClaimHandler takes one claim, by UID, and ends its time in
// claimsInProgress when it is done with or given up.
//
// Upstream: controller.go processNextClaimWorkItem and syncClaimHandler, v13.
func (ctrl *provisionController) syncClaimHandler(ctx context.Context, uid string) error {
	claim, ok := ctrl.claimByUID(uid)
	if !ok {
		return nil // deleted, and nothing is in the making for it
	}
	err := ctrl.syncClaim(ctx, claim)
	if err == nil || ctrl.givesUp(uid) {
		delete(ctrl.claimsInProgress, uid)
	}
	return err
}

// givesUp reports whether the queue will drop the claim if this try fails.
func (ctrl *provisionController) givesUp(uid string) bool {
	threshold := ctrl.cfg.FailedProvisionThreshold
	return threshold > 0 && ctrl.claimQueue.NumRequeues(uid) >= threshold
}

// claimByUID finds a claim: in the cache, or, once it has been deleted, among
// those in progress.
//
// Upstream: controller.go syncClaimHandler, v13.
func (ctrl *provisionController) claimByUID(uid string) (*v1.PersistentVolumeClaim, bool) {
	if found := ctrl.claims.ByIndex(uidIndex, uid); len(found) > 0 {
		return ctrl.unlessRescheduled(found[0]), true
	}
	claim, ok := ctrl.claimsInProgress[uid]
	return claim, ok
}

// aboutClaim returns what a key of the claim queue stands for.
func (ctrl *provisionController) aboutClaim(uid string) string {
	if claim, ok := ctrl.claimByUID(uid); ok {
		return trace.RefOf("PersistentVolumeClaim", claim).String()
	}
	return trace.Ref{Kind: "PersistentVolumeClaim", Name: uid}.String()
}

// syncClaim provisions a volume for the claim if it should have one, and keeps
// claimsInProgress.
//
// Upstream: controller.go syncClaim, v13.
func (ctrl *provisionController) syncClaim(ctx context.Context, claim *v1.PersistentVolumeClaim) error {
	if err := ctrl.delayProvisioningIfRecentlyInfeasible(claim); err != nil {
		return err
	}
	should, reason, err := ctrl.shouldProvision(ctx, claim)
	if err != nil {
		ctrl.countProvisionFailed(claim)
		return err
	}
	if !should {
		ctrl.traceSkipped(claim, reason)
		return nil
	}
	state, err := ctrl.provisionClaimOperation(ctx, claim)
	if err != nil {
		ctrl.countProvisionFailed(claim)
	}
	switch {
	case err == nil || state == ProvisioningFinished:
		delete(ctrl.claimsInProgress, string(claim.UID))
	case state == ProvisioningInBackground:
		ctrl.claimsInProgress[string(claim.UID)] = claim
	default:
		// NoChange: in progress if it was, not if it was not.
	}
	return err
}
