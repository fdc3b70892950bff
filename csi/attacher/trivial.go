package attacher

import (
	"context"

	storage "k8s.io/api/storage/v1"
)

// syncTrivial marks every VolumeAttachment as attached, for drivers without attaching. It uses no finalizer, so that
// a deleted VolumeAttachment is gone at once.
//
// Upstream: trivial_handler.go SyncNewOrUpdatedVolumeAttachment, v4.13.
func (a *csiAttacher) syncTrivial(ctx context.Context, va *storage.VolumeAttachment) error {
	if va.Status.Attached {
		return nil
	}
	return a.markAsAttached(ctx, va, nil)
}
