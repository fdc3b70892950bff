package attacher

import (
	"context"
	"fmt"
	"slices"
)

// syncPV takes the attacher's finalizer off a volume that is being deleted, once no
// VolumeAttachment names it. The patch tests that the finalizer has the index at which it was last
// seen; if others have changed the list meanwhile, it is refused and tried again.
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
