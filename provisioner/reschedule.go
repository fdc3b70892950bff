package provisioner

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
)

// A claim whose version has changed is read again, at most so often, after times that begin with rescheduleBackoff.
//
// Upstream: client-go util/retry DefaultBackoff, v0.37, without its random part.
const (
	rescheduleTries   = 4
	rescheduleBackoff = 10 * time.Millisecond
	rescheduleFactor  = 5
)

// rescheduledClaim is a claim as rescheduleProvisioning has written it. It replaces the cached one as long as that has the version
// from, so that one reschedule is one write.
type rescheduledClaim struct {
	from  string
	claim *v1.PersistentVolumeClaim
}

// rescheduleProvisioning gives the claim back to the scheduler by removing its selected-node, unless another client has removed it.
//
// Upstream: controller.go rescheduleProvisioning, v13.1.
func (ctrl *provisionController) rescheduleProvisioning(ctx context.Context, claim *v1.PersistentVolumeClaim) error {
	wait := rescheduleBackoff
	for try := 1; ; try++ {
		updated, err := ctrl.removeSelectedNode(ctx, claim)
		switch {
		case err == nil:
			if cached, ok := ctrl.claims.Get(claimToClaimKey(claim)); ok && updated != nil && cached.UID == updated.UID {
				ctrl.rescheduled[string(claim.UID)] = rescheduledClaim{cached.ResourceVersion, updated}
			}
			return nil
		case try == rescheduleTries || !apierrors.IsConflict(err) || ctrl.env.Sleep(ctx, wait) != nil:
			return fmt.Errorf("delete annotation %q of claim %s: %w", binding.AnnSelectedNode, claimToClaimKey(claim), err)
		}
		wait *= rescheduleFactor
	}
}

// removeSelectedNode reads the claim and writes it without selected-node. It returns nil if the claim has none.
func (ctrl *provisionController) removeSelectedNode(ctx context.Context, claim *v1.PersistentVolumeClaim) (*v1.PersistentVolumeClaim, error) {
	claims := ctrl.client.CoreV1().PersistentVolumeClaims(claim.Namespace)
	fresh, err := claims.Get(ctx, claim.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if _, ok := fresh.Annotations[binding.AnnSelectedNode]; !ok {
		return nil, nil
	}
	delete(fresh.Annotations, binding.AnnSelectedNode)
	return claims.Update(ctx, fresh, metav1.UpdateOptions{})
}

// unlessRescheduled returns the cached claim, or what rescheduleProvisioning made of
// it while the cache still shows the version that it showed then.
func (ctrl *provisionController) unlessRescheduled(cached *v1.PersistentVolumeClaim) *v1.PersistentVolumeClaim {
	edited, ok := ctrl.rescheduled[string(cached.UID)]
	if !ok {
		return cached
	}
	if edited.from == cached.ResourceVersion {
		return edited.claim
	}
	delete(ctrl.rescheduled, string(cached.UID))
	return cached
}
