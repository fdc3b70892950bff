package snapshotcontroller

import (
	"context"
	"fmt"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/control/snapshots"
)

// needsUpdateStatus reports whether the status of a content may differ from that of its snapshot.
//
// Upstream: snapshot_controller.go needsUpdateSnapshotStatus and groupsnapshot_controller_helper.go
// needsUpdateGroupSnapshotStatus, v8.7, which compare the pointers readyToUse instead of the values: two of them always differ.
func needsUpdateStatus(state snapshots.Status, found snapshots.Content) bool {
	switch {
	case !found.HasStatus:
		return false
	case state.BoundContent == nil:
		return true
	case state.CreationTime == nil && found.CreationTime != nil:
		return true
	case found.ReadyToUse != nil:
		return true
	}
	return newSize(state, found)
}

// newSize reports whether a content has a size that its snapshot does not have yet.
func newSize(state snapshots.Status, found snapshots.Content) bool {
	return found.RestoreSize != nil && (state.RestoreSize == nil || state.RestoreSize.IsZero() && *found.RestoreSize > 0)
}

// updateStatus writes to a snapshot what its content says, and returns the snapshot as it is then.
//
// Upstream: snapshot_controller.go updateSnapshotStatus and groupsnapshot_controller_helper.go
// updateGroupSnapshotStatus, v8.7.
func (b *binder[S, C]) updateStatus(ctx context.Context, snapshot S, found C) (S, error) {
	var none S
	key := control.Key(snapshot)
	group, err := b.groupOf(b.Content(found), key)
	if err != nil {
		return none, err
	}
	latest, err := b.snapshots.API.Get(ctx, snapshot.GetNamespace(), snapshot.GetName())
	if err != nil {
		return none, fmt.Errorf("error get %s %s from api server: %w", b.Noun, key, err)
	}
	before := b.Snapshot(latest).Status
	after, changed := follow(before, b.Content(found), found.GetName(), group)
	if !changed {
		return latest, nil
	}
	if before.CreationTime == nil && after.CreationTime != nil {
		b.recorder.Event(snapshot, v1.EventTypeNormal, b.Reason+"Created", fmt.Sprintf("%s %s was successfully created by the CSI driver.", b.Reason, key))
	}
	if !before.IsReady() && after.IsReady() {
		b.recorder.Event(snapshot, v1.EventTypeNormal, b.Reason+"Ready", fmt.Sprintf("%s %s is ready to use.", b.Reason, key))
	}
	wanted := latest.DeepCopyObject().(S)
	b.SetStatus(wanted, after)
	updated, err := b.snapshots.API.UpdateStatus(ctx, wanted)
	if err != nil {
		return none, snapshots.UpdateError(key, err)
	}
	return updated, nil
}

// follow returns the status of a snapshot after that of the content with this name, and whether that is a change.
// group is the name of the snapshot's group snapshot, or "".
//
// Upstream: snapshot_controller.go updateSnapshotStatus and groupsnapshot_controller_helper.go updateGroupSnapshotStatus,
// v8.7. They compare the pointers to the times of two errors, so that an error is always written again.
func follow(status snapshots.Status, found snapshots.Content, name, group string) (_ snapshots.Status, changed bool) {
	if status.BoundContent == nil {
		status.BoundContent, changed = &name, true
	}
	if status.CreationTime == nil && found.CreationTime != nil {
		status.CreationTime, changed = found.CreationTime.DeepCopy(), true
	}
	ready := found.IsReady()
	if status.ReadyToUse == nil || *status.ReadyToUse != ready {
		status.ReadyToUse, changed = &ready, true
		if ready {
			status.Error = nil
		}
	}
	if newSize(status, found) {
		status.RestoreSize, changed = resource.NewQuantity(*found.RestoreSize, resource.BinarySI), true
	}
	if status.Group == nil && group != "" {
		status.Group, changed = &group, true
	}
	if status.Error != nil || found.Error != nil {
		status.Error, changed = found.Error.DeepCopy(), true
	}
	return status, changed
}

// updateErrorStatus writes an error to the status of a snapshot and emits an event, unless the snapshot has the same
// error already. It returns the error of the write.
//
// Upstream: snapshot_controller.go updateSnapshotErrorStatusWithEvent and groupsnapshot_controller_helper.go
// updateGroupSnapshotErrorStatusWithEvent, v8.7.
func (b *binder[S, C]) updateErrorStatus(ctx context.Context, snapshot S, notReady bool, reason, message string) error {
	status := b.Snapshot(snapshot).Status
	if status.Error != nil && status.Error.Message != nil && *status.Error.Message == message {
		return nil
	}
	status.Error = &snapshotv1.VolumeSnapshotError{Time: &metav1.Time{Time: b.env.Now()}, Message: &message}
	if notReady {
		status.ReadyToUse = new(bool)
	}
	changed := snapshot.DeepCopyObject().(S)
	b.SetStatus(changed, status)
	updated, err := b.snapshots.API.UpdateStatus(ctx, changed)
	b.recorder.Event(snapshot, v1.EventTypeWarning, reason, message) // also if the write failed
	if err != nil {
		return err
	}
	b.snapshots.Take(updated)
	return nil
}

// fail does updateErrorStatus for an error that the caller returns. The sync is then repeated, and with it a write
// that failed.
func (b *binder[S, C]) fail(ctx context.Context, snapshot S, notReady bool, reason, message string) {
	_ = b.updateErrorStatus(ctx, snapshot, notReady, reason, message)
}
