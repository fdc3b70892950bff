package provisioner

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/trace"
)

// shouldProvision reports whether this provisioner should make a volume for the
// claim, and if not, why not. An error means: cannot tell yet, try again.
//
// Upstream: controller.go shouldProvision, v13.
func (ctrl *provisionController) shouldProvision(ctx context.Context, claim *v1.PersistentVolumeClaim) (should bool, reason string, err error) {
	if claim.Spec.VolumeName != "" {
		return false, "it names volume " + claim.Spec.VolumeName, nil
	}
	if ctrl.qualifierDeclines(ctx, claim) {
		return false, "the provisioner declines it", nil
	}
	provisioner, found := storageProvisioner(claim)
	if !found {
		return false, "it is not annotated for a provisioner", nil
	}
	if !ctrl.knownProvisioner(provisioner) {
		return false, fmt.Sprintf("it is for provisioner %q", provisioner), nil
	}
	class, err := ctrl.getStorageClass(binding.GetPersistentVolumeClaimClass(claim))
	if err != nil {
		return false, "its class is not known", err
	}
	if waitsForFirstConsumer(class) && claim.Annotations[binding.AnnSelectedNode] == "" {
		return false, "it waits for the scheduler to select a node", nil
	}
	return true, "", nil
}

// storageProvisioner returns the provisioner that the PV controller has asked to provision for the
// claim.
func storageProvisioner(claim *v1.PersistentVolumeClaim) (string, bool) {
	if name, ok := claim.Annotations[binding.AnnStorageProvisioner]; ok {
		return name, true
	}
	name, ok := claim.Annotations[binding.AnnBetaStorageProvisioner]
	return name, ok
}

func waitsForFirstConsumer(class *storagev1.StorageClass) bool {
	return class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
}

// skipped begins what the trace says of a claim that gets no volume now.
const skipped = "does not provision: "

// traceSkipped notes why an unbound claim that is ours gets no volume now.
// Other people's claims are not worth a word, unless all are asked for.
func (ctrl *provisionController) traceSkipped(claim *v1.PersistentVolumeClaim, reason string) {
	provisioner, found := storageProvisioner(claim)
	if ctrl.cfg.TraceAll || found && ctrl.knownProvisioner(provisioner) && claim.Spec.VolumeName == "" {
		ctrl.trace(claim, skipped+reason)
	}
}

func (ctrl *provisionController) trace(claim *v1.PersistentVolumeClaim, text string) {
	ctrl.env.Trace(trace.Decision{About: trace.RefOf("PersistentVolumeClaim", claim), Text: text})
}
