package attacher

import (
	"context"
	"fmt"
	"slices"

	"github.com/container-storage-interface/spec/lib/go/csi"
	storage "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/storagesim/storagesim/control"
)

// syncDetach detaches a volume whose VolumeAttachment is being deleted. Without the finalizer there is nothing to
// do: the volume was never published for it, or was unpublished.
//
// Upstream: csi_handler.go syncDetach, v4.13.
func (a *csiAttacher) syncDetach(ctx context.Context, va *storage.VolumeAttachment) error {
	if !a.consumeForceSync(va.Name) && !slices.Contains(va.Finalizers, a.finalizer) {
		return nil
	}
	va, err := a.csiDetach(ctx, va)
	if err != nil {
		a.saveDetachError(ctx, va, err)
		return fmt.Errorf("failed to detach: %w", err)
	}
	return nil
}

// csiDetach calls ControllerUnpublishVolume, whether or not the volume is known to be
// attached: an earlier call may have succeeded without an answer.
//
// Upstream: csi_handler.go csiDetach, v4.13.
func (a *csiAttacher) csiDetach(ctx context.Context, va *storage.VolumeAttachment) (*storage.VolumeAttachment, error) {
	_, spec, err := a.specOf(va)
	if err != nil {
		return va, err
	}
	if spec.CSI == nil {
		return va, errNoCSI
	}
	secrets, err := a.credentials(ctx, spec.CSI)
	if err != nil {
		return va, err
	}
	nodeID, err := a.nodeID(va.Spec.NodeName, va)
	if err != nil {
		return va, err
	}
	_, err = a.driver.ControllerUnpublishVolume(control.WithTimeout(ctx, a.env, a.cfg.Timeout), &csi.ControllerUnpublishVolumeRequest{
		VolumeId: spec.CSI.VolumeHandle, NodeId: nodeID, Secrets: secrets,
	})
	if err != nil {
		return va, err
	}
	if va, err = a.markAsDetached(ctx, va); err != nil {
		return va, fmt.Errorf("could not mark as detached: %w", err)
	}
	return va, nil
}

// markAsDetached removes the finalizer and then clears the status: a VolumeAttachment that is being deleted and has
// no finalizer counts as detached, whatever its status says. In the other order, the cleared status would trigger
// another ControllerUnpublishVolume (bug 27 of docs/bugs.md).
//
// Upstream: util.go markAsDetached, v4.13.
func (a *csiAttacher) markAsDetached(ctx context.Context, va *storage.VolumeAttachment) (*storage.VolumeAttachment, error) {
	if !slices.Contains(va.Finalizers, a.finalizer) && !va.Status.Attached {
		return va, nil
	}
	if slices.Contains(va.Finalizers, a.finalizer) {
		rest := va.DeepCopy()
		rest.Finalizers = slices.DeleteFunc(rest.Finalizers, func(f string) bool { return f == a.finalizer })
		if len(rest.Finalizers) == 0 {
			rest.Finalizers = nil
		}
		var err error
		if va, err = a.patchVA(ctx, va, rest); err != nil {
			return va, err
		}
	}
	cleared := va.DeepCopy()
	cleared.Status.Attached = false
	cleared.Status.DetachError = nil
	cleared.Status.AttachmentMetadata = nil
	va, err := a.patchVA(ctx, va, cleared, "status")
	if apierrors.IsNotFound(err) {
		return va, nil // without its last finalizer it is gone
	}
	return va, err
}
