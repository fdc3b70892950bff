package snapshotcontroller

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/control/snapshots"
)

// syncGroupSnapshot brings a group snapshot one step further.
//
// Upstream: groupsnapshot_controller_helper.go syncGroupSnapshot, v8.7.
func (g *groupController) syncGroupSnapshot(ctx context.Context, group *groupSnapshot) error {
	if group.DeletionTimestamp != nil {
		return g.processGroupSnapshotWithDeletionTimestamp(ctx, group)
	}
	if source := group.Spec.Source; (source.Selector == nil) == (source.VolumeGroupSnapshotContentName == nil) {
		err := errors.New("Exactly one of Selector and VolumeGroupSnapshotContentName should be specified")
		_ = g.fail(ctx, group, true, "GroupSnapshotValidationError", err.Error())
		return err
	}
	if err := g.checkAndAddGroupSnapshotFinalizers(ctx, group); err != nil {
		g.recorder.Event(group, v1.EventTypeWarning, "GroupSnapshotFinalizerError", "Failed to check and update group snapshot: "+err.Error())
		return err
	}
	if !snapshots.IsGroupReady(group) || snapshots.BoundGroupContent(group) == "" {
		return g.syncUnreadyGroupSnapshot(ctx, group)
	}
	return g.syncReadyGroupSnapshot(ctx, group)
}

// checkAndAddGroupSnapshotFinalizers keeps a group snapshot as long as it has a content.
//
// Upstream: groupsnapshot_controller_helper.go checkandAddGroupSnapshotFinalizers and util.go
// NeedToAddGroupSnapshotBoundFinalizer, v8.7.
func (g *groupController) checkAndAddGroupSnapshotFinalizers(ctx context.Context, group *groupSnapshot) error {
	find := g.dynamicGroupContent
	if group.Spec.Source.VolumeGroupSnapshotContentName != nil {
		find = g.preprovisionedGroupContent
	}
	found, err := find(ctx, group)
	if err != nil || found == nil || snapshots.BoundGroupContent(group) == "" || hasFinalizer(group, snapshots.GroupBoundFinalizer) {
		return err
	}
	return g.groupSnapshots.AddFinalizers(ctx, group, snapshots.GroupBoundFinalizer)
}

// syncReadyGroupSnapshot checks that the content of a group snapshot is still there and its own.
//
// Upstream: groupsnapshot_controller_helper.go syncReadyGroupSnapshot, v8.7.
func (g *groupController) syncReadyGroupSnapshot(ctx context.Context, group *groupSnapshot) error {
	found, ok := g.groupContents.Newest(snapshots.BoundGroupContent(group))
	switch {
	case !ok:
		return g.fail(ctx, group, true, "GroupSnapshotContentMissing", "VolumeGroupSnapshotContent is missing")
	case !snapshots.GroupRefersTo(found, group):
		return g.fail(ctx, group, true, "GroupSnapshotMisbound", "VolumeGroupSnapshotContent is not bound to the VolumeGroupSnapshot correctly")
	}
	return nil
}

// syncUnreadyGroupSnapshot binds a group snapshot and its content, makes the content if there is none, and the
// members when the driver has taken them.
//
// Upstream: groupsnapshot_controller_helper.go syncUnreadyGroupSnapshot, v8.7.
func (g *groupController) syncUnreadyGroupSnapshot(ctx context.Context, group *groupSnapshot) error {
	if group.Spec.Source.VolumeGroupSnapshotContentName != nil {
		return g.syncPreprovisionedGroup(ctx, group)
	}
	found, err := g.dynamicGroupContent(ctx, group)
	if err != nil {
		return err
	}
	if found == nil {
		if found, err = g.createGroupSnapshotContent(ctx, group); err != nil {
			_ = g.fail(ctx, group, true, "GroupSnapshotContentCreationFailed", fmt.Sprintf("failed to create group snapshot content with error %v", err))
			return err
		}
		return g.tellGroup(ctx, group, found, false)
	}
	if err := g.createSnapshotsForGroupSnapshotContent(ctx, found, group); err != nil {
		return err
	}
	latest, err := g.groupSnapshots.API.Get(ctx, group.Namespace, group.Name)
	if err != nil {
		return fmt.Errorf("error get group snapshot %s from api server: %w", control.Key(group), err)
	}
	return g.tellGroup(ctx, latest, found, true)
}

// tellGroup writes to a group snapshot what its content says.
//
// Upstream: groupsnapshot_controller_helper.go syncUnreadyGroupSnapshot and bindandUpdateVolumeGroupSnapshot, v8.7.
func (g *groupController) tellGroup(ctx context.Context, group *groupSnapshot, found *groupContent, bound bool) error {
	updated, err := g.updateGroupSnapshotStatus(ctx, group, found)
	if err != nil {
		_ = g.fail(ctx, group, bound, "GroupSnapshotStatusUpdateFailed", fmt.Sprintf("GroupSnapshot status update failed, %v", err))
		return err
	}
	if bound {
		g.groupSnapshots.Take(updated)
	}
	return nil
}

// syncPreprovisionedGroup binds a group snapshot to the content that it names.
//
// Upstream: groupsnapshot_controller_helper.go syncUnreadyGroupSnapshot, v8.7.
func (g *groupController) syncPreprovisionedGroup(ctx context.Context, group *groupSnapshot) error {
	key, name := control.Key(group), *group.Spec.Source.VolumeGroupSnapshotContentName
	found, err := g.preprovisionedGroupContent(ctx, group)
	if err != nil {
		return err
	}
	if found == nil {
		_ = g.fail(ctx, group, true, "GroupSnapshotContentMissing", "VolumeGroupSnapshotContent is missing")
		return fmt.Errorf("group snapshot %s requests an non-existing group snapshot content %s", key, name)
	}
	bound, err := g.checkAndBindGroupSnapshotContent(ctx, group, found)
	if err != nil {
		_ = g.fail(ctx, group, true, "GroupSnapshotBindFailed", fmt.Sprintf("GroupSnapshot failed to bind VolumeGroupSnapshotContent, %v", err))
		return fmt.Errorf("group snapshot %s is bound, but VolumeGroupSnapshotContent %s is not bound to the VolumeGroupSnapshot correctly, %w", key, name, err)
	}
	return g.tellGroup(ctx, group, bound, false)
}

// preprovisionedGroupContent is the content that a group snapshot names, or nil if there is none.
//
// Upstream: groupsnapshot_controller_helper.go getPreprovisionedGroupSnapshotContentFromStore, v8.7.
func (g *groupController) preprovisionedGroupContent(ctx context.Context, group *groupSnapshot) (*groupContent, error) {
	key, name := control.Key(group), *group.Spec.Source.VolumeGroupSnapshotContentName
	if name == "" {
		return nil, fmt.Errorf("empty VolumeGroupSnapshotContentName for group snapshot %s", key)
	}
	found, ok := g.groupContents.Newest(name)
	if !ok {
		return nil, nil
	}
	if found.Spec.Source.GroupSnapshotHandles == nil {
		_ = g.fail(ctx, group, true, "GroupSnapshotContentMismatch", "VolumeGroupSnapshotContent is dynamically provisioned while expecting a pre-provisioned one")
		return nil, fmt.Errorf("group snapshot %s expects a pre-provisioned VolumeGroupSnapshotContent %s but gets a dynamically provisioned one", key, name)
	}
	ref := found.Spec.VolumeGroupSnapshotRef
	if ref.Name != group.Name || ref.Namespace != group.Namespace || ref.UID != "" && ref.UID != group.UID {
		return nil, g.misboundGroup(ctx, group, name)
	}
	return found, nil
}

// dynamicGroupContent is the content that was made for a group snapshot, or nil if there is none yet.
//
// Upstream: groupsnapshot_controller_helper.go getDynamicallyProvisionedGroupContentFromStore, v8.7.
func (g *groupController) dynamicGroupContent(ctx context.Context, group *groupSnapshot) (*groupContent, error) {
	name := groupContentName(group)
	found, ok := g.groupContents.Newest(name)
	switch {
	case !ok:
		return nil, nil
	case found.Spec.Source.GroupSnapshotHandles != nil:
		_ = g.fail(ctx, group, true, "GroupSnapshotContentMismatch", "VolumeGroupSnapshotContent "+name+" is pre-provisioned while expecting a dynamically provisioned one")
		return nil, fmt.Errorf("group snapshot %s expects a dynamically provisioned VolumeGroupSnapshotContent %s but gets a pre-provisioned one", control.Key(group), name)
	case !snapshots.GroupRefersTo(found, group):
		return nil, g.misboundGroup(ctx, group, name)
	}
	return found, nil
}

// misboundGroup tells of a content that is another group snapshot's.
func (g *groupController) misboundGroup(ctx context.Context, group *groupSnapshot, name string) error {
	err := fmt.Errorf("VolumeGroupSnapshotContent [%s] is bound to a different group snapshot", name)
	_ = g.fail(ctx, group, true, "GroupSnapshotContentMisbound", err.Error())
	return err
}

// checkAndBindGroupSnapshotContent writes the group snapshot's UID, and its class, to a content that names it.
//
// Upstream: groupsnapshot_controller_helper.go checkAndBindGroupSnapshotContent, v8.7.
func (g *groupController) checkAndBindGroupSnapshotContent(ctx context.Context, group *groupSnapshot, found *groupContent) (*groupContent, error) {
	ref := found.Spec.VolumeGroupSnapshotRef
	if ref.UID != "" && found.Spec.VolumeGroupSnapshotClassName != nil {
		return found, nil
	}
	ops := []snapshots.Op{{Op: "replace", Path: "/spec/volumeGroupSnapshotRef/uid", Value: string(group.UID)}}
	if name := group.Spec.VolumeGroupSnapshotClassName; name != nil {
		ops = append(ops, snapshots.Op{Op: "replace", Path: "/spec/volumeGroupSnapshotClassName", Value: *name})
	}
	updated, err := g.groupContents.API.Patch(ctx, found, ops...)
	if err != nil {
		return found, err
	}
	g.groupContents.Take(updated)
	return updated, nil
}
