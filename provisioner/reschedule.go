package provisioner

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
)

// rescheduleProvisioning gives the claim back to the scheduler by removing its
// selected-node. Until the cache has seen that, the claim is taken as edited,
// so that one reschedule is one write.
//
// Upstream: controller.go rescheduleProvisioning, v13.
func (ctrl *provisionController) rescheduleProvisioning(ctx context.Context, claim *v1.PersistentVolumeClaim) error {
	edited := claim.DeepCopy()
	delete(edited.Annotations, binding.AnnSelectedNode)
	if _, err := ctrl.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Update(ctx, edited.DeepCopy(), metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("delete annotation %q of claim %s: %w", binding.AnnSelectedNode, claimToClaimKey(claim), err)
	}
	ctrl.rescheduled[string(claim.UID)] = edited
	return nil
}

// unlessRescheduled returns the cached claim, or what rescheduleProvisioning made of
// it while the cache still shows the version that was edited.
func (ctrl *provisionController) unlessRescheduled(cached *v1.PersistentVolumeClaim) *v1.PersistentVolumeClaim {
	edited, ok := ctrl.rescheduled[string(cached.UID)]
	if !ok {
		return cached
	}
	if edited.ResourceVersion == cached.ResourceVersion {
		return edited
	}
	delete(ctrl.rescheduled, string(cached.UID))
	return cached
}
