package pvcontroller

import (
	"context"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/internal/quantity"
)

// bind makes volume and claim point to each other, in four writes. It stops at the
// first error; called again, it goes on where it stopped, since a write that would
// change nothing is left out.
// Upstream: pv_controller.go bind, v1.37.
func (c *controller) bind(ctx context.Context, volume *v1.PersistentVolume, claim *v1.PersistentVolumeClaim) error {
	volume, err := c.bindVolumeToClaim(ctx, volume, claim)
	if err != nil {
		return err
	}
	volume, err = c.updateVolumePhase(ctx, volume, v1.VolumeBound, "")
	if err != nil {
		return err
	}
	claim, err = c.bindClaimToVolume(ctx, claim, volume)
	if err != nil {
		return err
	}
	_, err = c.updateClaimStatus(ctx, claim, v1.ClaimBound, volume)
	return err
}

// bindVolumeToClaim writes the volume's claimRef. From then on the volume belongs to
// the claim: of two claims that want it, the API server refuses the second.
// Upstream: pv_controller.go bindVolumeToClaim, v1.37.
func (c *controller) bindVolumeToClaim(ctx context.Context, volume *v1.PersistentVolume, claim *v1.PersistentVolumeClaim) (*v1.PersistentVolume, error) {
	bound, dirty, err := binding.GetBindVolumeToClaim(volume, claim)
	if err != nil || !dirty {
		return volume, err
	}
	return c.updateVolume(ctx, bound)
}

// updateVolumePhase writes the volume's phase and the reason for it.
// Upstream: pv_controller.go updateVolumePhase, v1.37.
func (c *controller) updateVolumePhase(ctx context.Context, volume *v1.PersistentVolume, phase v1.PersistentVolumePhase,
	message string) (*v1.PersistentVolume, error) {
	if volume.Status.Phase == phase {
		return volume, nil
	}
	changed := *volume // no need for more: nothing that it shares is written to
	changed.Status.Phase, changed.Status.Message = phase, message
	updated, err := c.client.CoreV1().PersistentVolumes().UpdateStatus(ctx, &changed, metav1.UpdateOptions{})
	if err != nil {
		return nil, fmt.Errorf("pv %s cannot become %s: %w", volume.Name, phase, err)
	}
	c.storeVolumeUpdate(updated)
	return updated, nil
}

// bindClaimToVolume writes the claim's volumeName, and that it is bound.
// Upstream: pv_controller.go bindClaimToVolume, v1.37.
func (c *controller) bindClaimToVolume(ctx context.Context, claim *v1.PersistentVolumeClaim, volume *v1.PersistentVolume) (*v1.PersistentVolumeClaim, error) {
	_, completed := claim.Annotations[binding.AnnBindCompleted]
	if completed && claim.Spec.VolumeName == volume.Name {
		return claim, nil
	}
	changed := *claim
	changed.Annotations = maps.Clone(claim.Annotations)
	if claim.Spec.VolumeName != volume.Name {
		changed.Spec.VolumeName = volume.Name
		setIfMissing(&changed.ObjectMeta, binding.AnnBoundByController)
	}
	setIfMissing(&changed.ObjectMeta, binding.AnnBindCompleted)
	return c.updateClaim(ctx, &changed)
}

// setIfMissing sets an annotation of which only the presence counts.
func setIfMissing(meta *metav1.ObjectMeta, annotation string) {
	if !metav1.HasAnnotation(*meta, annotation) {
		metav1.SetMetaDataAnnotation(meta, annotation, "yes")
	}
}

// updateClaimStatus writes the claim's phase and what it has from its volume; without
// a volume it has nothing.
// Upstream: pv_controller.go updateClaimStatus, v1.37.
func (c *controller) updateClaimStatus(ctx context.Context, claim *v1.PersistentVolumeClaim, phase v1.PersistentVolumeClaimPhase,
	volume *v1.PersistentVolume) (*v1.PersistentVolumeClaim, error) {
	status, dirty, err := claimStatus(claim, phase, volume)
	if err != nil || !dirty {
		return claim, err
	}
	changed := *claim // no need for more: nothing that it shares is written to
	changed.Status = status
	updated, err := c.client.CoreV1().PersistentVolumeClaims(claim.Namespace).UpdateStatus(ctx, &changed, metav1.UpdateOptions{})
	if err != nil {
		return nil, fmt.Errorf("pvc %s/%s cannot become %s: %w", claim.Namespace, claim.Name, phase, err)
	}
	c.storeClaimUpdate(updated)
	return updated, nil
}

// claimStatus returns the status that the claim is to have, and reports whether it differs
// from the present one. The capacity is taken from the volume only when the phase changes: later the
// two may differ on purpose, while a file system has not grown to its device's size.
func claimStatus(claim *v1.PersistentVolumeClaim, phase v1.PersistentVolumeClaimPhase,
	volume *v1.PersistentVolume) (v1.PersistentVolumeClaimStatus, bool, error) {
	status := claim.Status // its lists and maps are shared, and replaced where they change
	changing := status.Phase != phase
	status.Phase = phase
	if volume == nil {
		dirty := changing || status.AccessModes != nil || status.Capacity != nil || status.CurrentVolumeAttributesClassName != nil
		status.AccessModes, status.Capacity, status.CurrentVolumeAttributesClassName = nil, nil, nil
		return status, dirty, nil
	}
	dirty := changing
	if !slices.Equal(status.AccessModes, volume.Spec.AccessModes) {
		status.AccessModes = slices.Clone(volume.Spec.AccessModes)
		dirty = true
	}
	if !changing {
		return status, dirty, nil
	}
	size, found := fileSystemSize(volume)
	if !found {
		return status, false, fmt.Errorf("PersistentVolume %q is without a storage capacity", volume.Name)
	}
	if known, found := status.Capacity[v1.ResourceStorage]; !found || size.Cmp(known) != 0 {
		status.Capacity = maps.Clone(volume.Spec.Capacity)
		status.Capacity[v1.ResourceStorage] = size
	}
	if claim.Status.Phase == v1.ClaimPending && phase == v1.ClaimBound && volume.Spec.VolumeAttributesClassName != nil {
		class := *volume.Spec.VolumeAttributesClassName
		status.CurrentVolumeAttributesClassName = &class
	}
	return status, dirty, nil
}

// fileSystemSize returns the volume's capacity, or the one it had before a resize that has
// not reached the file system; and whether the volume has a capacity at all. An
// annotation that is no quantity does not count.
func fileSystemSize(volume *v1.PersistentVolume) (size resource.Quantity, found bool) {
	size, found = volume.Spec.Capacity[v1.ResourceStorage]
	if !found {
		return size, false
	}
	if before, err := quantity.Parse(volume.Annotations[binding.AnnPreResizeCapacity]); err == nil {
		return before, true
	}
	return size, true
}

// unbindVolume makes the volume Available again. If the user had reserved it, it
// stays reserved for a claim of that name.
// Upstream: pv_controller.go unbindVolume, v1.37.
func (c *controller) unbindVolume(ctx context.Context, volume *v1.PersistentVolume) error {
	clone := volume.DeepCopy()
	if _, ours := volume.Annotations[binding.AnnBoundByController]; ours {
		clone.Spec.ClaimRef = nil
		delete(clone.Annotations, binding.AnnBoundByController)
		if len(clone.Annotations) == 0 {
			clone.Annotations = nil
		}
	} else {
		clone.Spec.ClaimRef.UID = ""
	}
	unbound, err := c.updateVolume(ctx, clone)
	if err != nil {
		return err
	}
	_, err = c.updateVolumePhase(ctx, unbound, v1.VolumeAvailable, "")
	return err
}

// updateVolume writes the volume and remembers the outcome.
func (c *controller) updateVolume(ctx context.Context, volume *v1.PersistentVolume) (*v1.PersistentVolume, error) {
	updated, err := c.client.CoreV1().PersistentVolumes().Update(ctx, volume, metav1.UpdateOptions{})
	if err != nil {
		return nil, fmt.Errorf("pv %s: %w", volume.Name, err)
	}
	c.storeVolumeUpdate(updated)
	return updated, nil
}

// updateClaim writes the claim and remembers the outcome.
func (c *controller) updateClaim(ctx context.Context, claim *v1.PersistentVolumeClaim) (*v1.PersistentVolumeClaim, error) {
	updated, err := c.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Update(ctx, claim, metav1.UpdateOptions{})
	if err != nil {
		return nil, err // events quote it, and it names the claim
	}
	c.storeClaimUpdate(updated)
	return updated, nil
}
