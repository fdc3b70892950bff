package snapshotcontroller

import (
	"context"
	"fmt"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/control/snapshots"
)

// isDeletionCandidate reports whether a snapshot is being deleted and still has a finalizer of this controller.
//
// Upstream: pkg/utils/util.go IsSnapshotDeletionCandidate, v8.7.
func isDeletionCandidate(snapshot *volumeSnapshot) bool {
	return snapshot.DeletionTimestamp != nil && (hasFinalizer(snapshot, snapshots.AsSourceFinalizer) || hasFinalizer(snapshot, snapshots.BoundFinalizer))
}

// processSnapshotWithDeletionTimestamp deletes the content of a snapshot that is being deleted, if the two name each
// other and the policy is Delete.
//
// Upstream: snapshot_controller.go processSnapshotWithDeletionTimestamp, v8.7.
func (s *singles) processSnapshotWithDeletionTimestamp(ctx context.Context, snapshot *volumeSnapshot) error {
	name := s.bound(snapshot)
	if name == "" && snapshot.Spec.Source.PersistentVolumeClaimName != nil {
		name = s.contentName(snapshot) // created, but the snapshot's status is not written yet
	}
	found, ok := s.contents.Newest(name)
	if !ok || !s.RefersTo(found, snapshot) {
		found = nil
	}
	return s.deleteContentAndFinalizers(ctx, snapshot, found)
}

// deleteContentAndFinalizers deletes the content, which may be nil, and removes the snapshot's finalizers that are
// not needed any more. The finalizer of a bound snapshot stays until the content is gone.
//
// Upstream: snapshot_controller.go checkandRemoveSnapshotFinalizersAndCheckandDeleteContent, v8.7.
func (s *singles) deleteContentAndFinalizers(ctx context.Context, snapshot *volumeSnapshot, found *content) error {
	if !isDeletionCandidate(snapshot) {
		return nil
	}
	if found != nil && s.isVolumeBeingCreatedFrom(snapshot) {
		s.recorder.Event(snapshot, v1.EventTypeWarning, "SnapshotDeletePending", "Snapshot is being used to restore a PVC")
		if s.cfg.DropBusy {
			return nil
		}
		return fmt.Errorf("snapshot %s is in use (being used to restore a PVC), will retry deletion", control.Key(snapshot))
	}
	leaves, err := s.leavesGroup(snapshot)
	switch {
	case err != nil:
		return err
	case found == nil:
		return s.removeSnapshotFinalizer(ctx, snapshot, true, leaves)
	}
	if found, err = s.contents.Annotate(ctx, found, snapshots.AnnBeingDeleted); err != nil {
		return err
	}
	cascade := found.Spec.DeletionPolicy == snapshotv1.VolumeSnapshotContentDelete
	if cascade {
		if err := s.contents.API.Delete(ctx, "", found.Name); err != nil && !apierrors.IsNotFound(err) {
			s.recorder.Event(snapshot, v1.EventTypeWarning, "SnapshotContentObjectDeleteError", "Failed to delete snapshot content API object")
			return fmt.Errorf("failed to delete VolumeSnapshotContent %s from API server: %q", found.Name, err.Error())
		}
	}
	return s.removeSnapshotFinalizer(ctx, snapshot, !cascade, leaves)
}

// isVolumeBeingCreatedFrom reports whether a pending claim is to be restored from a snapshot.
//
// Upstream: snapshot_controller.go isVolumeBeingCreatedFromSnapshot, v8.7.
func (s *singles) isVolumeBeingCreatedFrom(snapshot *volumeSnapshot) bool {
	for claim := range s.claims.All() {
		source := claim.Spec.DataSource
		if claim.Namespace == snapshot.Namespace && claim.Status.Phase == v1.ClaimPending && source != nil &&
			source.Name == snapshot.Name && source.Kind == snapshots.SnapshotKind && source.APIGroup != nil && *source.APIGroup == snapshots.Group {
			return true
		}
	}
	return false
}
