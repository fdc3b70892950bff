package snapshotcontroller

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/control/snapshots"
)

// syncContentByKey looks at a content, or has the snapshot of one that is gone be looked at.
//
// Upstream: snapshot_controller_base.go syncContentByKey, updateContent and deleteContent, v8.7.
func (c *controller) syncContentByKey(ctx context.Context, key string) error {
	found, ok := c.contents.Cached(key)
	if ok {
		if !c.contents.Take(found) {
			return nil
		}
		return c.syncContent(ctx, found)
	}
	if gone, known := c.contents.Newest(key); known {
		c.contents.Forget(key)
		c.snapshotQueue.Add(snapshotKey(gone))
	}
	return nil
}

// syncContent protects a content that is bound, and has its snapshot follow its status.
//
// Upstream: snapshot_controller.go syncContent, v8.7.
func (c *controller) syncContent(ctx context.Context, found *content) error {
	source := found.Spec.Source
	if (source.VolumeHandle == nil) == (source.SnapshotHandle == nil) {
		err := errors.New("Exactly one of VolumeHandle and SnapshotHandle should be specified")
		c.recorder.Event(found, v1.EventTypeWarning, "ContentValidationError", err.Error())
		return err
	}
	if found.Spec.VolumeSnapshotRef.UID == "" {
		return nil // the snapshot will bind it
	}
	if added, err := c.contents.AddContentFinalizer(ctx, found, snapshots.ContentFinalizer); added || err != nil {
		return err
	}
	key := snapshotKey(found)
	snapshot, ok := c.snapshots.Newest(key)
	if !ok || snapshot.UID != found.Spec.VolumeSnapshotRef.UID {
		return nil // A missing snapshot deletes nothing: its data would be lost.
	}
	if needsUpdateSnapshotStatus(snapshot, found) {
		c.snapshotQueue.Add(key)
	}
	if isDeletionCandidate(snapshot) {
		_, err := c.contents.Annotate(ctx, found, snapshots.AnnBeingDeleted)
		return err
	}
	return nil
}
