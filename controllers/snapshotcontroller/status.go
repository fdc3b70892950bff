package snapshotcontroller

import (
	"context"
	"fmt"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/control/snapshots"
)

// needsUpdateSnapshotStatus says whether a content may have news for its snapshot.
//
// Upstream: snapshot_controller.go needsUpdateSnapshotStatus, v8.7, which compares where readyToUse is
// kept, not what it is: two of them always differ.
func needsUpdateSnapshotStatus(snapshot *volumeSnapshot, found *content) bool {
	is, has := snapshot.Status, found.Status
	switch {
	case has == nil:
		return false
	case is == nil || is.BoundVolumeSnapshotContentName == nil:
		return true
	case is.CreationTime == nil && has.CreationTime != nil:
		return true
	case has.ReadyToUse != nil:
		return true
	}
	return has.RestoreSize != nil && (is.RestoreSize == nil || is.RestoreSize.IsZero() && *has.RestoreSize > 0)
}

// updateSnapshotStatus writes to the snapshot what its content says, and returns the snapshot as it
// is then.
//
// Upstream: snapshot_controller.go updateSnapshotStatus, v8.7.
func (c *controller) updateSnapshotStatus(ctx context.Context, snapshot *volumeSnapshot, found *content) (*volumeSnapshot, error) {
	key := control.Key(snapshot)
	group, err := c.groupOf(found, key)
	if err != nil {
		return nil, err
	}
	latest, err := c.snapshots.API.Get(ctx, snapshot.Namespace, snapshot.Name)
	if err != nil {
		return nil, fmt.Errorf("error get snapshot %s from api server: %w", key, err)
	}
	changed := latest.DeepCopy()
	if !follow(changed, found, group) {
		return latest, nil
	}
	if latest.Status == nil || latest.Status.CreationTime == nil {
		if changed.Status.CreationTime != nil {
			c.recorder.Event(snapshot, v1.EventTypeNormal, "SnapshotCreated", fmt.Sprintf("Snapshot %s was successfully created by the CSI driver.", key))
		}
	}
	if !snapshots.IsReady(latest) && snapshots.IsReady(changed) {
		c.recorder.Event(snapshot, v1.EventTypeNormal, "SnapshotReady", fmt.Sprintf("Snapshot %s is ready to use.", key))
	}
	updated, err := c.snapshots.API.UpdateStatus(ctx, changed)
	if err != nil {
		return nil, snapshots.UpdateError(key, err)
	}
	return updated, nil
}

// follow has the snapshot's status follow the content, and says whether that changes anything. group is the name of
// its group snapshot, or "".
//
// Upstream: snapshot_controller.go updateSnapshotStatus, v8.7. It compares where the times of two
// errors are kept, so that an error is always written anew.
func follow(snapshot *volumeSnapshot, found *content, group string) (changed bool) {
	has := snapshotv1.VolumeSnapshotContentStatus{}
	if found.Status != nil {
		has = *found.Status
	}
	if snapshot.Status == nil {
		snapshot.Status = &snapshotv1.VolumeSnapshotStatus{}
	}
	status := snapshot.Status
	if status.BoundVolumeSnapshotContentName == nil {
		status.BoundVolumeSnapshotContentName, changed = &found.Name, true
	}
	if status.CreationTime == nil && has.CreationTime != nil {
		status.CreationTime, changed = &metav1.Time{Time: time.Unix(0, *has.CreationTime)}, true
	}
	ready := has.ReadyToUse != nil && *has.ReadyToUse
	if status.ReadyToUse == nil || *status.ReadyToUse != ready {
		status.ReadyToUse, changed = &ready, true
		if ready {
			status.Error = nil
		}
	}
	if has.RestoreSize != nil && (status.RestoreSize == nil || status.RestoreSize.IsZero() && *has.RestoreSize > 0) {
		status.RestoreSize, changed = resource.NewQuantity(*has.RestoreSize, resource.BinarySI), true
	}
	if status.VolumeGroupSnapshotName == nil && group != "" {
		status.VolumeGroupSnapshotName, changed = &group, true
	}
	if status.Error != nil || has.Error != nil {
		status.Error, changed = has.Error.DeepCopy(), true
	}
	return changed
}

// statusOf is where an object has its error and its readiness; a status is made if there is none.
type statusOf[P any] func(P) (failure **snapshotv1.VolumeSnapshotError, ready **bool)

// writeError writes an error to an object and tells of it, unless the object has the same error already.
//
// Upstream: snapshot_controller.go updateSnapshotErrorStatusWithEvent and groupsnapshot_controller_helper.go
// updateGroupSnapshotErrorStatusWithEvent, v8.7.
func writeError[T any, P snapshots.Pointer[T]](ctx context.Context, c *controller, objects snapshots.Objects[T, P], obj P, at statusOf[P], notReady bool, reason, message string) error {
	changed := obj.DeepCopyObject().(P)
	failure, isReady := at(changed)
	if is := *failure; is != nil && is.Message != nil && *is.Message == message {
		return nil
	}
	*failure = &snapshotv1.VolumeSnapshotError{Time: &metav1.Time{Time: c.env.Now()}, Message: &message}
	if notReady {
		*isReady = new(bool)
	}
	updated, err := objects.API.UpdateStatus(ctx, changed)
	// The event is there also if the write failed.
	c.recorder.Event(obj, v1.EventTypeWarning, reason, message)
	if err != nil {
		return err
	}
	objects.Take(updated)
	return nil
}

// writeErrorStatus is writeError for a snapshot.
func (c *controller) writeErrorStatus(ctx context.Context, snapshot *volumeSnapshot, notReady bool, reason, message string) error {
	at := func(s *volumeSnapshot) (**snapshotv1.VolumeSnapshotError, **bool) {
		if s.Status == nil {
			s.Status = &snapshotv1.VolumeSnapshotStatus{}
		}
		return &s.Status.Error, &s.Status.ReadyToUse
	}
	return writeError(ctx, c, c.snapshots, snapshot, at, notReady, reason, message)
}

// updateErrorStatus is writeErrorStatus where something has failed already: that is tried again, and with it
// a write that is refused.
func (c *controller) updateErrorStatus(ctx context.Context, snapshot *volumeSnapshot, notReady bool, reason, message string) {
	_ = c.writeErrorStatus(ctx, snapshot, notReady, reason, message)
}
