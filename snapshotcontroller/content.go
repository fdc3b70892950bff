package snapshotcontroller

import (
	"context"
	"errors"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	if found.DeletionTimestamp == nil && !slices.Contains(found.Finalizers, snapshots.ContentFinalizer) {
		return c.addContentFinalizer(ctx, found)
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
		_, err := c.setAnnBeingDeleted(ctx, found)
		return err
	}
	return nil
}

// Upstream: snapshot_controller.go addContentFinalizer, v8.7.
func (c *controller) addContentFinalizer(ctx context.Context, found *content) error {
	op := snapshots.Op{Op: "add", Path: "/metadata/finalizers", Value: []string{snapshots.ContentFinalizer}}
	if len(found.Finalizers) > 0 {
		op = snapshots.Op{Op: "add", Path: "/metadata/finalizers/-", Value: snapshots.ContentFinalizer}
	}
	updated, err := c.contentAPI.Patch(ctx, found, op)
	if err != nil {
		return updateError(found.Name, err)
	}
	c.contents.Take(updated)
	return nil
}

// setAnnBeingDeleted lets the sidecar delete what is in the storage.
//
// Upstream: snapshot_controller.go setAnnVolumeSnapshotBeingDeleted, v8.7.
func (c *controller) setAnnBeingDeleted(ctx context.Context, found *content) (*content, error) {
	if metav1.HasAnnotation(found.ObjectMeta, snapshots.AnnBeingDeleted) {
		return found, nil
	}
	annotations := map[string]string{}
	maps.Copy(annotations, found.Annotations)
	annotations[snapshots.AnnBeingDeleted] = "yes"
	updated, err := c.contentAPI.Patch(ctx, found, snapshots.Op{Op: "replace", Path: "/metadata/annotations", Value: annotations})
	if err != nil {
		return found, updateError(found.Name, err)
	}
	c.contents.Take(updated)
	return updated, nil
}
