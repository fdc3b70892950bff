package snapshotcontroller

import (
	"context"
	"errors"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control/snapshots"
)

// checkAndAddSnapshotFinalizers protects a snapshot: always as a source of claims, and as long as it has a content
// that is deleted with it.
//
// Upstream: snapshot_controller.go checkandAddSnapshotFinalizers, v8.7.
func (s *singles) checkAndAddSnapshotFinalizers(ctx context.Context, snapshot *volumeSnapshot) error {
	found, err := s.contentOf(ctx, snapshot)
	if err != nil {
		return err
	}
	var wanted []string
	if !hasFinalizer(snapshot, snapshots.AsSourceFinalizer) {
		wanted = append(wanted, snapshots.AsSourceFinalizer)
	}
	if found != nil && found.Spec.DeletionPolicy == snapshotv1.VolumeSnapshotContentDelete &&
		s.bound(snapshot) != "" && !hasFinalizer(snapshot, snapshots.BoundFinalizer) {
		wanted = append(wanted, snapshots.BoundFinalizer)
	}
	if len(wanted) == 0 {
		return nil
	}
	return s.snapshots.AddFinalizers(ctx, snapshot, wanted...)
}

// removeSnapshotFinalizer lets a snapshot go, at once with bound, else after its content. leaves means that its
// group snapshot is gone.
//
// Upstream: snapshot_controller.go removeSnapshotFinalizer, v8.7.
func (s *singles) removeSnapshotFinalizer(ctx context.Context, snapshot *volumeSnapshot, bound, leaves bool) error {
	// First of all, since no later change of the snapshot would remove the claim's finalizer.
	if err := s.checkAndRemovePVCFinalizer(ctx, snapshot, true); err != nil {
		s.recorder.Event(snapshot, v1.EventTypeWarning, "ErrorPVCFinalizer", "Error check and remove PVC Finalizer for VolumeSnapshot")
		return snapshots.UpdateError(snapshot.Name, err)
	}
	finalizers := []string{snapshots.AsSourceFinalizer}
	if bound {
		finalizers = append(finalizers, snapshots.BoundFinalizer)
	}
	if leaves {
		finalizers = append(finalizers, snapshots.InGroupFinalizer)
	}
	return s.removeFinalizers(ctx, snapshot, finalizers...)
}

// ensurePVCFinalizer protects the claim until the snapshot is taken.
//
// Upstream: snapshot_controller.go ensurePVCFinalizer, v8.7.
func (s *singles) ensurePVCFinalizer(ctx context.Context, snapshot *volumeSnapshot) error {
	claim, err := s.claimOf(snapshot)
	switch {
	case err != nil:
		return snapshots.UpdateError(snapshot.Name, errors.New("cannot get claim from snapshot"))
	case hasFinalizer(claim, snapshots.PVCFinalizer):
		return nil
	case claim.DeletionTimestamp != nil:
		return snapshots.UpdateError(claim.Name, errors.New("cannot add finalizer on claim because it is being deleted"))
	}
	changed := claim.DeepCopy()
	changed.Finalizers = append(changed.Finalizers, snapshots.PVCFinalizer)
	if _, err := s.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Update(ctx, changed, metav1.UpdateOptions{}); err != nil {
		return snapshots.UpdateError(claim.Name, err)
	}
	return nil
}

// checkAndRemovePVCFinalizer removes the protection of the claim when no snapshot of it is being taken. With skip
// this snapshot does not count.
//
// Upstream: snapshot_controller.go checkandRemovePVCFinalizer and removePVCFinalizer, v8.7.
func (s *singles) checkAndRemovePVCFinalizer(ctx context.Context, snapshot *volumeSnapshot, skip bool) error {
	claim, err := s.claimOf(snapshot)
	if err != nil || !hasFinalizer(claim, snapshots.PVCFinalizer) || s.isPVCBeingUsed(claim, snapshot, skip) {
		return nil //nolint:nilerr // Without a claim there is nothing to remove.
	}
	claims := s.client.CoreV1().PersistentVolumeClaims(claim.Namespace)
	const wait = 10 * time.Millisecond
	for try := 1; ; try++ { // client-go's retry.DefaultRetry
		var latest *v1.PersistentVolumeClaim
		latest, err = claims.Get(ctx, claim.Name, metav1.GetOptions{})
		if err == nil {
			latest.Finalizers = slices.DeleteFunc(latest.Finalizers, func(finalizer string) bool { return finalizer == snapshots.PVCFinalizer })
			_, err = claims.Update(ctx, latest, metav1.UpdateOptions{})
		}
		switch {
		case err == nil:
			return nil
		case try == 5 || !apierrors.IsConflict(err) || s.env.Sleep(ctx, wait) != nil:
			return snapshots.UpdateError(claim.Name, err)
		}
	}
}

// isPVCBeingUsed reports whether a snapshot of a claim is not ready yet.
//
// Upstream: snapshot_controller.go isPVCBeingUsed, v8.7.
func (s *singles) isPVCBeingUsed(claim *v1.PersistentVolumeClaim, snapshot *volumeSnapshot, skip bool) bool {
	return slices.ContainsFunc(s.snapshots.All(), func(other *volumeSnapshot) bool {
		name := other.Spec.Source.PersistentVolumeClaimName
		return other.Namespace == snapshot.Namespace && (!skip || other.Name != snapshot.Name) &&
			name != nil && *name == claim.Name && !snapshots.IsReady(other) && s.cfg.Keeps(other)
	})
}
