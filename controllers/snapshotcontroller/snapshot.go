package snapshotcontroller

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/control/snapshots"
)

// syncSnapshotByKey looks at a snapshot, or has the content of one that is gone be looked at.
//
// Upstream: snapshot_controller_base.go syncSnapshotByKey, updateSnapshot and deleteSnapshot, v8.7.
func (c *controller) syncSnapshotByKey(ctx context.Context, key string) error {
	cached, ok := c.snapshots.Cached(key)
	if !ok {
		gone, known := c.snapshots.Newest(key)
		c.snapshots.Forget(key)
		if known && snapshots.BoundContent(gone) != "" {
			c.contentQueue.Add(snapshots.BoundContent(gone))
		}
		return nil
	}
	snapshot, err := c.checkAndUpdateSnapshotClass(ctx, cached)
	if err != nil && (snapshot.DeletionTimestamp == nil || !apierrors.IsNotFound(err)) {
		return err // A snapshot that is being deleted needs no class.
	}
	if !c.snapshots.Take(snapshot) {
		return nil
	}
	return c.syncSnapshot(ctx, snapshot)
}

// syncSnapshot brings a snapshot one step further.
//
// Upstream: snapshot_controller.go syncSnapshot, v8.7.
func (c *controller) syncSnapshot(ctx context.Context, snapshot *volumeSnapshot) error {
	if err := c.checkAndRemovePVCFinalizer(ctx, snapshot, false); err != nil {
		c.recorder.Event(snapshot, v1.EventTypeWarning, "ErrorPVCFinalizer", "Error check and remove PVC Finalizer for VolumeSnapshot")
	}
	if snapshot.DeletionTimestamp != nil {
		return c.processSnapshotWithDeletionTimestamp(ctx, snapshot)
	}
	source := snapshot.Spec.Source
	if (source.PersistentVolumeClaimName == nil) == (source.VolumeSnapshotContentName == nil) {
		err := errors.New("Exactly one of PersistentVolumeClaimName and VolumeSnapshotContentName should be specified")
		c.updateErrorStatus(ctx, snapshot, true, "SnapshotValidationError", err.Error())
		return err
	}
	if err := c.checkAndAddSnapshotFinalizers(ctx, snapshot); err != nil {
		c.recorder.Event(snapshot, v1.EventTypeWarning, "SnapshotFinalizerError", "Failed to check and update snapshot: "+err.Error())
		return err
	}
	if !snapshots.IsReady(snapshot) || snapshots.BoundContent(snapshot) == "" {
		return c.syncUnreadySnapshot(ctx, snapshot)
	}
	return c.syncReadySnapshot(ctx, snapshot)
}

// syncReadySnapshot checks that the content of a snapshot is still there and its own.
//
// Upstream: snapshot_controller.go syncReadySnapshot, v8.7.
func (c *controller) syncReadySnapshot(ctx context.Context, snapshot *volumeSnapshot) error {
	found, ok := c.contents.Newest(snapshots.BoundContent(snapshot))
	switch {
	case !ok:
		return c.writeErrorStatus(ctx, snapshot, true, "SnapshotContentMissing", "VolumeSnapshotContent is missing")
	case !snapshots.RefersTo(found, snapshot):
		return c.writeErrorStatus(ctx, snapshot, true, "SnapshotMisbound", "VolumeSnapshotContent is not bound to the VolumeSnapshot correctly")
	}
	return c.addGroupOwnership(ctx, snapshot)
}

// syncUnreadySnapshot binds a snapshot and its content, and makes the content if there is none.
//
// Upstream: snapshot_controller.go syncUnreadySnapshot, v8.7.
func (c *controller) syncUnreadySnapshot(ctx context.Context, snapshot *volumeSnapshot) error {
	key := control.Key(snapshot)
	if snapshot.Spec.Source.VolumeSnapshotContentName != nil {
		return c.syncPreprovisioned(ctx, snapshot)
	}
	if snapshots.GroupOf(snapshot) != "" {
		return c.syncUnreadyMember(ctx, snapshot)
	}
	found, err := c.dynamicContent(ctx, snapshot)
	if err != nil {
		return err
	}
	if found != nil {
		if found.Spec.Source.SnapshotHandle != nil {
			c.updateErrorStatus(ctx, snapshot, true, "SnapshotHandleSet", fmt.Sprintf("Snapshot handle should not be set in content %s for dynamic provisioning", key))
			return fmt.Errorf("snapshotHandle should not be set in the content for dynamic provisioning for snapshot %s", key)
		}
		return c.bindAndUpdate(ctx, found, snapshot)
	}
	if found, err = c.createSnapshotContent(ctx, snapshot); err != nil {
		c.updateErrorStatus(ctx, snapshot, true, "SnapshotContentCreationFailed", fmt.Sprintf("Failed to create snapshot content with error %v", err))
		return err
	}
	return c.tellSnapshot(ctx, snapshot, found)
}

// tellSnapshot writes to a snapshot what its content says.
//
// Upstream: snapshot_controller.go syncUnreadySnapshot, v8.7.
func (c *controller) tellSnapshot(ctx context.Context, snapshot *volumeSnapshot, found *content) error {
	_, err := c.updateSnapshotStatus(ctx, snapshot, found)
	if err != nil {
		c.updateErrorStatus(ctx, snapshot, false, "SnapshotStatusUpdateFailed", fmt.Sprintf("Snapshot status update failed, %v", err))
	}
	return err
}

// syncPreprovisioned binds a snapshot to the content that it names.
//
// Upstream: snapshot_controller.go syncUnreadySnapshot, v8.7.
func (c *controller) syncPreprovisioned(ctx context.Context, snapshot *volumeSnapshot) error {
	key, name := control.Key(snapshot), *snapshot.Spec.Source.VolumeSnapshotContentName
	found, err := c.preprovisionedContent(ctx, snapshot)
	if err != nil {
		return err
	}
	if found == nil {
		c.updateErrorStatus(ctx, snapshot, true, "SnapshotContentMissing", "VolumeSnapshotContent is missing")
		return fmt.Errorf("snapshot %s requests an non-existing content %s", key, name)
	}
	bound, err := c.checkAndBind(ctx, snapshot, found)
	if err != nil {
		c.updateErrorStatus(ctx, snapshot, true, "SnapshotBindFailed", fmt.Sprintf("Snapshot failed to bind VolumeSnapshotContent, %v", err))
		return fmt.Errorf("snapshot %s is bound, but VolumeSnapshotContent %s is not bound to the VolumeSnapshot correctly, %w", key, name, err)
	}
	return c.tellSnapshot(ctx, snapshot, bound)
}

// preprovisionedContent is the content that a snapshot names, or nil if there is none.
//
// Upstream: snapshot_controller.go getPreprovisionedContentFromStore, v8.7.
func (c *controller) preprovisionedContent(ctx context.Context, snapshot *volumeSnapshot) (*content, error) {
	key, name := control.Key(snapshot), *snapshot.Spec.Source.VolumeSnapshotContentName
	if name == "" {
		return nil, fmt.Errorf("empty VolumeSnapshotContentName for snapshot %s", key)
	}
	found, ok := c.contents.Newest(name)
	if !ok {
		return nil, nil
	}
	if found.Spec.Source.SnapshotHandle == nil {
		c.updateErrorStatus(ctx, snapshot, true, "SnapshotContentMismatch", "VolumeSnapshotContent is dynamically provisioned while expecting a pre-provisioned one")
		return nil, fmt.Errorf("snapshot %s expects a pre-provisioned VolumeSnapshotContent %s but gets a dynamically provisioned one", key, name)
	}
	ref := found.Spec.VolumeSnapshotRef
	if ref.Name != snapshot.Name || ref.Namespace != snapshot.Namespace || ref.UID != "" && ref.UID != snapshot.UID {
		return nil, c.misbound(ctx, snapshot, name)
	}
	return found, nil
}

// dynamicContent is the content that was made for a snapshot, or nil if there is none yet.
//
// Upstream: snapshot_controller.go getDynamicallyProvisionedContentFromStore, v8.7.
func (c *controller) dynamicContent(ctx context.Context, snapshot *volumeSnapshot) (*content, error) {
	name := contentName(snapshot)
	found, ok := c.contents.Newest(name)
	switch {
	case !ok:
		return nil, nil
	case found.Spec.Source.VolumeHandle == nil:
		c.updateErrorStatus(ctx, snapshot, true, "SnapshotContentMismatch", "VolumeSnapshotContent "+name+" is pre-provisioned while expecting a dynamically provisioned one")
		return nil, fmt.Errorf("snapshot %s expects a dynamically provisioned VolumeSnapshotContent %s but gets a pre-provisioned one", control.Key(snapshot), name)
	case !snapshots.RefersTo(found, snapshot):
		return nil, c.misbound(ctx, snapshot, name)
	}
	return found, nil
}

// misbound tells of a content that is another snapshot's.
func (c *controller) misbound(ctx context.Context, snapshot *volumeSnapshot, name string) error {
	err := fmt.Errorf("VolumeSnapshotContent [%s] is bound to a different snapshot", name)
	c.updateErrorStatus(ctx, snapshot, true, "SnapshotContentMisbound", err.Error())
	return err
}

// checkAndBind writes the snapshot's UID, and its class, to a content that names it.
//
// Upstream: snapshot_controller.go checkandBindSnapshotContent, v8.7.
func (c *controller) checkAndBind(ctx context.Context, snapshot *volumeSnapshot, found *content) (*content, error) {
	ref := found.Spec.VolumeSnapshotRef
	switch {
	case ref.Name != snapshot.Name || ref.UID != "" && ref.UID != snapshot.UID:
		return nil, fmt.Errorf("Could not bind snapshot %s and content %s, the VolumeSnapshotRef does not match", snapshot.Name, found.Name)
	case ref.UID != "" && found.Spec.VolumeSnapshotClassName != nil:
		return found, nil
	}
	ops := []snapshots.Op{{Op: "replace", Path: "/spec/volumeSnapshotRef/uid", Value: string(snapshot.UID)}}
	if name := snapshot.Spec.VolumeSnapshotClassName; name != nil {
		ops = append(ops, snapshots.Op{Op: "replace", Path: "/spec/volumeSnapshotClassName", Value: *name})
	}
	updated, err := c.contents.API.Patch(ctx, found, ops...)
	if err != nil {
		return found, err
	}
	c.contents.Take(updated)
	return updated, nil
}

// bindAndUpdate tells the snapshot what its content says.
//
// Upstream: snapshot_controller.go bindandUpdateVolumeSnapshot, v8.7.
func (c *controller) bindAndUpdate(ctx context.Context, found *content, snapshot *volumeSnapshot) error {
	latest, err := c.snapshots.API.Get(ctx, snapshot.Namespace, snapshot.Name)
	if err != nil {
		return fmt.Errorf("error get snapshot %s from api server: %w", control.Key(snapshot), err)
	}
	updated, err := c.updateSnapshotStatus(ctx, latest, found)
	if err != nil {
		c.updateErrorStatus(ctx, latest, true, "SnapshotStatusUpdateFailed", fmt.Sprintf("Snapshot status update failed, %v", err))
		return err
	}
	c.snapshots.Take(updated)
	return nil
}
