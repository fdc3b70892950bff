package attacher

import (
	"context"
	"fmt"
	"slices"
)

// syncPV removes the attacher's finalizer from a volume that is being deleted, once no VolumeAttachment names it.
// The patch tests that the finalizer still has its index in the list; if the list has changed, the patch is refused
// and tried again.
//
// Upstream: csi_handler.go SyncNewOrUpdatedPersistentVolume and util.go
// removeFinalizerPatch, v4.13.
func (a *csiAttacher) syncPV(ctx context.Context, name string) error {
	pv, ok := a.volumes.Get(name)
	if !ok || pv.DeletionTimestamp == nil || !a.supportsAttach() {
		return nil
	}
	at := slices.Index(pv.Finalizers, a.finalizer)
	if at < 0 || a.attachments.HasIndex(byVolume, name) {
		return nil
	}
	path := fmt.Sprintf("/metadata/finalizers/%d", at)
	return a.patchVolume(ctx, name, []operation{{Op: "test", Path: path, Value: a.finalizer}, {Op: "remove", Path: path}})
}
