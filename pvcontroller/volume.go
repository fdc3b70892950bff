package pvcontroller

import (
	"context"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
)

// syncVolume brings one volume forward: it decides whose it is, and its phase follows.
// It never binds; that is the claim's side.
// Upstream: pv_controller.go syncVolume, v1.37.
func (c *controller) syncVolume(ctx context.Context, volume *v1.PersistentVolume) error {
	volume, err := c.updateVolumeMigrationAnnotationsAndFinalizers(ctx, volume)
	if err != nil {
		return err
	}
	if ref := volume.Spec.ClaimRef; ref == nil || ref.UID == "" {
		// It is free, or reserved for a claim whose sync will bind it.
		_, err := c.updateVolumePhase(ctx, volume, v1.VolumeAvailable, "")
		return err
	}
	claim, err := c.findClaimOfVolume(ctx, volume)
	switch {
	case err != nil:
		return err
	case claim == nil:
		return c.releaseVolume(ctx, volume)
	case claim.Spec.VolumeName == "":
		c.syncHalfBoundVolume(volume, claim)
		return nil
	case claim.Spec.VolumeName == volume.Name:
		_, err := c.updateVolumePhase(ctx, volume, v1.VolumeBound, "")
		return err
	}
	return c.syncMisboundVolume(ctx, volume)
}

// findClaimOfVolume returns the claim that the volume's claimRef names, nil if it is gone,
// also when another claim has its name now. A claim that seems gone is asked for at the
// API server before it is believed: a cache may lag behind the writer of claimRef, and
// releasing a volume may destroy its data. A volume already released is believed to
// be.
// Upstream: pv_controller.go syncVolume, v1.37.
func (c *controller) findClaimOfVolume(ctx context.Context, volume *v1.PersistentVolume) (*v1.PersistentVolumeClaim, error) {
	ref := volume.Spec.ClaimRef
	claim, found := c.claims.get(claimRefKey(ref))
	if !found && released(volume) {
		return nil, nil
	}
	if !found {
		claim, found = c.claimInformer.Get(claimRefKey(ref))
	}
	if found && c.cfg.SameClaim(claim, ref.UID) {
		return claim, nil
	}
	return c.getClaim(ctx, ref)
}

// getClaim asks the API server for the claim that a claimRef names. It returns nil if the claim is gone, or another one has its name now.
func (c *controller) getClaim(ctx context.Context, ref *v1.ObjectReference) (*v1.PersistentVolumeClaim, error) {
	claim, err := c.client.CoreV1().PersistentVolumeClaims(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	case !c.cfg.SameClaim(claim, ref.UID):
		return nil, nil
	}
	return claim, nil
}

// released: the volume's claim is known to be gone.
func released(volume *v1.PersistentVolume) bool {
	return volume.Status.Phase == v1.VolumeReleased || volume.Status.Phase == v1.VolumeFailed
}

// releaseVolume marks a volume whose claim is gone, or does not want it, and reclaims
// it. A Failed volume stays Failed, so that the user sees it, and is tried again.
// Upstream: pv_controller.go syncVolume, v1.37.
func (c *controller) releaseVolume(ctx context.Context, volume *v1.PersistentVolume) error {
	if !released(volume) {
		var err error
		if volume, err = c.updateVolumePhase(ctx, volume, v1.VolumeReleased, ""); err != nil {
			return err
		}
	}
	return c.reclaimVolume(ctx, volume)
}

// syncHalfBoundVolume queues the claim of a half-bound volume: bind was broken off, or a
// provisioner has just made the volume. If their modes differ, events say so instead.
// Upstream: pv_controller.go syncVolume, v1.37.
func (c *controller) syncHalfBoundVolume(volume *v1.PersistentVolume, claim *v1.PersistentVolumeClaim) {
	if !binding.CheckVolumeModeMismatches(&claim.Spec, &volume.Spec) {
		c.claimQueue.Add(control.Key(claim))
		return
	}
	// The claim's sync would not find this volume and say nothing.
	c.recorder.Eventf(volume, v1.EventTypeWarning, volumeMismatch,
		"Cannot bind PersistentVolume to requested PersistentVolumeClaim %q due to incompatible volumeMode.", claim.Name)
	c.recorder.Eventf(claim, v1.EventTypeWarning, volumeMismatch,
		"Cannot bind PersistentVolume %q to requested PersistentVolumeClaim due to incompatible volumeMode.", volume.Name)
}

// syncMisboundVolume frees a volume whose claim is bound elsewhere. One that was made
// for the claim is of no use to another claim.
// Upstream: pv_controller.go syncVolume, v1.37.
func (c *controller) syncMisboundVolume(ctx context.Context, volume *v1.PersistentVolume) error {
	_, provisioned := volume.Annotations[binding.AnnDynamicallyProvisioned]
	if provisioned && volume.Spec.PersistentVolumeReclaimPolicy == v1.PersistentVolumeReclaimDelete {
		return c.releaseVolume(ctx, volume)
	}
	return c.unbindVolume(ctx, volume)
}
