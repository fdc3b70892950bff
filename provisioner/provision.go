package provisioner

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/reference"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/trace"
)

// annAlphaSelectedNode is the old name of the annotation selected-node, which is still
// read.
const annAlphaSelectedNode = "volume.alpha.kubernetes.io/selected-node"

// provisionClaimOperation has a volume made for the claim and saves it. The
// state tells whether an asset may be in the making; an error has the claim
// tried again. Finished without an error can also mean that there was nothing
// to do, or that trying again is of no use.
//
// Upstream: controller.go provisionClaimOperation, v13.
func (ctrl *provisionController) provisionClaimOperation(ctx context.Context, claim *v1.PersistentVolumeClaim) (ProvisioningState, error) {
	began := ctrl.env.Now()
	name, err := ctrl.callVolumeName(claim)
	if err != nil {
		ctrl.events.Event(claim, v1.EventTypeWarning, "ProvisioningFailed", err.Error())
		return ProvisioningNoChange, err
	}
	if exists, err := ctrl.volumeExists(ctx, name); exists || err != nil {
		return ProvisioningFinished, err
	}
	claimRef, err := reference.GetReference(scheme.Scheme, claim)
	if err != nil {
		return ProvisioningNoChange, fmt.Errorf("cannot refer to claim %s: %w", claimToClaimKey(claim), err)
	}
	if err := ctrl.canProvision(ctx, claim); err != nil {
		ctrl.events.Event(claim, v1.EventTypeWarning, "ProvisioningFailed", err.Error())
		ctrl.countProvisionFailed(claim)
		return ProvisioningFinished, nil
	}
	className := binding.GetPersistentVolumeClaimClass(claim)
	class, err := ctrl.getStorageClass(className)
	if err != nil {
		return ProvisioningFinished, err
	}
	if !ctrl.knownProvisioner(class.Provisioner) {
		ctrl.trace(claim, fmt.Sprintf("does not provision: class %s is of provisioner %q", className, class.Provisioner))
		return ProvisioningFinished, nil
	}

	ctrl.events.Eventf(claim, v1.EventTypeNormal, "Provisioning", "External provisioner is provisioning volume for claim %q", claimToClaimKey(claim))
	volume, state, err := ctrl.callProvision(ctx, ProvisionOptions{
		StorageClass:     class.DeepCopy(),
		PVName:           name,
		PVC:              claim.DeepCopy(),
		SelectedNodeName: selectedNode(claim),
	})
	if err != nil {
		return ctrl.provisionFailed(ctx, claim, class, state, err)
	}
	ctrl.complete(volume, claimRef, class, className)
	// Not in ctx: ProvisionTimeout ends Provision, not the care for what it made.
	if err := ctrl.volumeStore.StoreVolume(context.Background(), claim, volume); err != nil {
		return ProvisioningFinished, err
	}
	ctrl.countProvisioned(claim, began)
	return ProvisioningFinished, nil
}

// provisionFailed acts on an error of Provision, whose text is the event's.
// Infeasible outranks the state.
//
// Upstream: controller.go provisionClaimOperation and
// provisionVolumeErrorHandling, v13.
func (ctrl *provisionController) provisionFailed(ctx context.Context, claim *v1.PersistentVolumeClaim, class *storagev1.StorageClass,
	state ProvisioningState, err error) (ProvisioningState, error) {
	if ignored, ok := err.(*IgnoredError); ok { //nolint:errorlint // Upstream looks at the direct type only.
		ctrl.trace(claim, "provisioning is "+ignored.Error())
		return ProvisioningFinished, nil
	}
	ctrl.traceUnknownState(claim, state)
	if isInfeasibleError(err) {
		ctrl.markForSlowRetry(claim, class.UID)
		ctrl.events.Eventf(claim, v1.EventTypeWarning, "ProvisioningFailed", "Volume provisioning failed with infeasible error. Retries will be delayed. %v", err)
		return ProvisioningFinished, err
	}
	ctrl.events.Event(claim, v1.EventTypeWarning, "ProvisioningFailed", err.Error())
	if state != ProvisioningReschedule {
		return state, err
	}
	if _, ok := claim.Annotations[binding.AnnSelectedNode]; !ok {
		return ProvisioningFinished, err // there is no node to reschedule from
	}
	if err := ctrl.rescheduleProvisioning(ctx, claim); err != nil {
		return ProvisioningFinished, err
	}
	ctrl.countProvisionFailed(claim)
	return ProvisioningFinished, nil
}

func knownStates() []ProvisioningState {
	return []ProvisioningState{ProvisioningFinished, ProvisioningInBackground, ProvisioningNoChange, ProvisioningReschedule}
}

// traceUnknownState says that a state is not one of the four. Such a state, and no
// state at all, count as NoChange, as upstream, which says nothing of it.
func (ctrl *provisionController) traceUnknownState(claim *v1.PersistentVolumeClaim, state ProvisioningState) {
	known := knownStates()
	if state == "" || slices.Contains(known, state) {
		return
	}
	ctrl.trace(claim, fmt.Sprintf("Provision returned the unknown state %q, which counts as %s; it must be one of %v", state, ProvisioningNoChange, known))
}

// complete adds what the library knows to the volume that Provision returned.
func (ctrl *provisionController) complete(volume *v1.PersistentVolume, claimRef *v1.ObjectReference, class *storagev1.StorageClass, className string) {
	volume.Spec.ClaimRef = claimRef
	volume.Spec.StorageClassName = className
	metav1.SetMetaDataAnnotation(&volume.ObjectMeta, binding.AnnDynamicallyProvisioned, class.Provisioner)
	if ctrl.cfg.AddFinalizer && !slices.Contains(volume.Finalizers, binding.PVDeletionProtectionFinalizer) {
		volume.Finalizers = append(volume.Finalizers, binding.PVDeletionProtectionFinalizer)
	}
}

// getProvisionedVolumeNameForClaim returns the same name at every try, so that a try
// after a crash cannot make a second volume.
//
// Upstream: controller.go getProvisionedVolumeNameForClaim, v13.
func getProvisionedVolumeNameForClaim(claim *v1.PersistentVolumeClaim) string {
	return "pvc-" + string(claim.UID)
}

// canProvision refuses a claim for a block volume if the provisioner makes none. Trying again does not help.
//
// Upstream: controller.go canProvision, v13.
func (ctrl *provisionController) canProvision(ctx context.Context, claim *v1.PersistentVolumeClaim) error {
	if claim.Spec.VolumeMode == nil || *claim.Spec.VolumeMode != v1.PersistentVolumeBlock {
		return nil
	}
	if ctrl.supportsBlock(ctx, claim) {
		return nil
	}
	return fmt.Errorf("%s does not support block volume provisioning", ctrl.cfg.Name)
}

func selectedNode(claim *v1.PersistentVolumeClaim) string {
	if node, ok := claim.Annotations[binding.AnnSelectedNode]; ok {
		return node
	}
	return claim.Annotations[annAlphaSelectedNode]
}

// volumeExists reports whether the volume has been made already. One that was
// saved here but has not reached the cache is looked up: it may be gone again.
func (ctrl *provisionController) volumeExists(ctx context.Context, name string) (bool, error) {
	if _, ok := ctrl.volumes.Get(name); ok {
		return true, nil
	}
	if !ctrl.saved[name] {
		return false, nil
	}
	ctrl.env.Trace(trace.Deviate(trace.SavedVolume, trace.Ref{Kind: "PersistentVolume", Name: name}))
	_, err := ctrl.client.CoreV1().PersistentVolumes().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		delete(ctrl.saved, name)
		return false, nil
	}
	return err == nil, err
}

func (ctrl *provisionController) rememberSaved(name string) {
	if _, ok := ctrl.volumes.Get(name); !ok {
		ctrl.saved[name] = true
	}
}

func claimToClaimKey(claim *v1.PersistentVolumeClaim) string {
	return claim.Namespace + "/" + claim.Name
}
