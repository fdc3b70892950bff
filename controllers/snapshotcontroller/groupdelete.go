package snapshotcontroller

import (
	"context"
	"errors"
	"fmt"
	"slices"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/control/snapshots"
)

// processGroupSnapshotWithDeletionTimestamp deletes the members of a group snapshot that is being deleted. With the
// policy Delete it also deletes the content, if the two name each other; the finalizer then stays until the content
// is gone.
//
// Upstream: groupsnapshot_controller_helper.go processGroupSnapshotWithDeletionTimestamp and util.go
// IsGroupSnapshotDeletionCandidate, v8.7.
func (g *groups) processGroupSnapshotWithDeletionTimestamp(ctx context.Context, group *groupSnapshot) error {
	found, ok := g.contents.Newest(g.bound(group))
	if !ok || !g.RefersTo(found, group) {
		found = nil
	}
	if !hasFinalizer(group, snapshots.GroupBoundFinalizer) {
		return nil
	}
	members := g.membersOf(group)
	if err := g.restored(group, members); err != nil {
		return err
	}
	cascade := found != nil && found.Spec.DeletionPolicy == snapshotv1.VolumeSnapshotContentDelete
	if err := g.deleteGroupContent(ctx, group, found, cascade); err != nil {
		return err
	}
	if err := g.deleteMembers(ctx, group, members); err != nil || cascade {
		return err
	}
	return g.removeFinalizers(ctx, group, snapshots.GroupBoundFinalizer)
}

// membersOf returns the snapshots that a group snapshot owns.
//
// Upstream: groupsnapshot_controller_helper.go findGroupSnapshotMembers, v8.7, which has an index.
func (g *groups) membersOf(group *groupSnapshot) []*volumeSnapshot {
	return slices.DeleteFunc(g.single.snapshots.All(), func(snapshot *volumeSnapshot) bool {
		return snapshot.Namespace != group.Namespace || snapshots.GroupOf(snapshot) != group.Name
	})
}

// restored returns an error as long as a claim is being restored from a member.
func (g *groups) restored(group *groupSnapshot, members []*volumeSnapshot) error {
	for _, snapshot := range members {
		if g.single.isVolumeBeingCreatedFrom(snapshot) {
			message := fmt.Sprintf("Snapshot %s belonging to VolumeGroupSnapshot %s is being used to restore a PVC", control.Key(snapshot), control.Key(group))
			g.recorder.Event(group, v1.EventTypeWarning, "SnapshotDeletePending", message)
			return fmt.Errorf("%s: snapshot is in use, will retry deletion", message)
		}
	}
	return nil
}

// deleteGroupContent allows the sidecar to delete the group snapshot in the storage and, with cascade, deletes the
// content, which may be nil.
func (g *groups) deleteGroupContent(ctx context.Context, group *groupSnapshot, found *groupContent, cascade bool) error {
	if found == nil {
		return nil
	}
	if _, err := g.contents.Annotate(ctx, found, snapshots.AnnGroupBeingDeleted); err != nil || !cascade {
		return err
	}
	if err := g.contents.API.Delete(ctx, "", found.Name); err != nil {
		g.recorder.Event(group, v1.EventTypeWarning, "GroupSnapshotContentObjectDeleteError", "Failed to delete group snapshot content API object")
		return fmt.Errorf("failed to delete VolumeGroupSnapshotContent %s from API server: %q", found.Name, err.Error())
	}
	return nil
}

// deleteMembers deletes the snapshots of a group snapshot. They stay until the group snapshot is gone.
func (g *groups) deleteMembers(ctx context.Context, group *groupSnapshot, members []*volumeSnapshot) error {
	for _, snapshot := range members {
		if err := g.single.snapshots.API.Delete(ctx, snapshot.Namespace, snapshot.Name); err != nil && !apierrors.IsNotFound(err) {
			message := fmt.Sprintf("failed to delete snapshot API object %s part of group snapshot %s: %v", control.Key(snapshot), control.Key(group), err)
			g.recorder.Event(group, v1.EventTypeWarning, "SnapshotDeleteError", message)
			return errors.New(message)
		}
	}
	return nil
}
